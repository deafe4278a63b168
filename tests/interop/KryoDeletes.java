import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.avro.util.Utf8;
import org.apache.hudi.common.model.HoodieKey;
import org.apache.hudi.common.table.log.block.HoodieDeleteBlock;

/** Prints contents of delete blocks by the Hudi on the class path: each in hex, and before it a line for each record. */
public class KryoDeletes {
  public static void main(String[] arguments) throws Exception {
    Constructor<?> block = Arrays.stream(HoodieDeleteBlock.class.getConstructors())
        .filter(one -> one.getParameterCount() == 2).findFirst().get();
    Class<?> element = block.getParameterTypes()[0].getComponentType();
    for (Map.Entry<String, Object[]> one : cases(element == HoodieKey.class).entrySet()) {
      Object records = Array.newInstance(element, one.getValue().length);
      for (int i = 0; i < one.getValue().length; i++) {
        Array.set(records, i, record(element, i, one.getKey(), one.getValue()[i]));
      }
      byte[] content = ((HoodieDeleteBlock) block.newInstance(records, new HashMap<>())).getContentBytes();
      System.out.println(String.join("\t", "case", one.getKey(), HexFormat.of().formatHex(content)));
    }
  }

  private static Map<String, Object[]> cases(boolean keysAlone) {
    Map<String, Object[]> cases = new LinkedHashMap<>();
    cases.put("none", new Object[0]);
    cases.put("int", new Object[] {0, 1, 127, 128, -1, -64, -65, Integer.MAX_VALUE, Integer.MIN_VALUE});
    cases.put("string", new Object[] {
      "", "a", "ab", "x".repeat(63), "x".repeat(64), "é", "日本語", "😀", "é".repeat(300), "y".repeat(300)
    });
    if (keysAlone) {
      return cases;
    }
    cases.put("long", new Object[] {0L, 1L, -1L, 1732000000000L, Long.MAX_VALUE, Long.MIN_VALUE});
    cases.put("float", new Object[] {1.5f, -0.25f});
    cases.put("double", new Object[] {1.5, -1e300, Double.NEGATIVE_INFINITY});
    cases.put("boolean", new Object[] {true, false});
    cases.put("utf8", new Object[] {new Utf8("avro é"), new Utf8(new byte[] {'b'}), new Utf8("")});
    cases.put("decimal", new Object[] {
      new BigDecimal("0"), new BigDecimal("1.5"), new BigDecimal("-12345678901234567890.123456789"), new BigDecimal("1E+3")
    });
    cases.put("date", new Object[] {java.sql.Date.valueOf("2022-03-04"), java.sql.Date.valueOf("1969-12-31")});
    cases.put("timestamp", new Object[] {
      java.sql.Timestamp.valueOf("2022-03-04 05:06:07.123"), java.sql.Timestamp.valueOf("1969-12-31 23:59:59.999")
    });
    cases.put("local date", new Object[] {java.time.LocalDate.of(2022, 3, 4), java.time.LocalDate.of(1969, 12, 31)});
    cases.put("unknown", new Object[] {java.time.Instant.ofEpochSecond(1646370367L, 123456789)});
    cases.put("null", new Object[] {null});
    Object twice = new BigDecimal("2.50");
    cases.put("mixed", new Object[] {
      1, "one", 1L, "one", twice, twice, true, 1, java.sql.Date.valueOf("2022-03-04"), 2.0
    });
    return cases;
  }

  private static Object record(Class<?> element, int number, String name, Object value) throws Exception {
    // One object in several records, which Kryo refers back to; others; and none.
    String partition = number % 4 == 3 ? null : number % 4 == 2 ? "p=é" + number : "2022/03/04";
    HoodieKey key = new HoodieKey(name.equals("string") ? (String) value : "key-" + number, partition);
    boolean keyAlone = element == HoodieKey.class;
    String type = keyAlone || value == null ? "" : value.getClass().getName();
    String text = keyAlone || value == null ? "" : value.toString();
    System.out.println(String.join("\t", "record", key.getRecordKey(), String.valueOf(partition), type, text));
    return keyAlone ? key : element.getMethod("create", HoodieKey.class, Comparable.class).invoke(null, key, value);
  }
}
