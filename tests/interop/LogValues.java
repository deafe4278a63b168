import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.hudi.common.model.DeleteRecord;

/** What py4j would change on its way to Python: the Java class of a value. Compiled by the judge with Janino. */
public class LogValues {
    /** The ordering value of a delete record: class name and text, once more for each value of several. */
    public List orderingValue(DeleteRecord record) throws Exception {
        List found = new ArrayList();
        add(found, record.getOrderingValue());
        return found;
    }

    private void add(List found, Object value) throws Exception {
        if (value == null) {
            return;
        }
        found.add(value.getClass().getName());
        found.add(value instanceof ByteBuffer ? hex((ByteBuffer) value) : value.toString());
        if (value.getClass().getSimpleName().equals("ArrayComparable")) { // 1.1 and later
            Object[] values = ((List) value.getClass().getMethod("getValues").invoke(value)).toArray();
            for (int one = 0; one < values.length; one++) {
                add(found, values[one]);
            }
        }
    }

    private String hex(ByteBuffer value) {
        StringBuilder text = new StringBuilder();
        for (int at = value.position(); at < value.limit(); at++) {
            text.append(String.format("%02x", new Object[] {Byte.valueOf(value.get(at))}));
        }
        return text.toString();
    }
}
