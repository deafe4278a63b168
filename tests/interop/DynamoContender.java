import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider;
import org.apache.hudi.common.config.LockConfiguration;
import org.apache.hudi.common.config.TypedProperties;

/**
 * A contender with Hudi's own provider. A line of input is an order, a line of output its answer: "use" and settings as
 * KEY=VALUE, all separated by tabs; milliseconds to wait for the lock; "unlock".
 */
public class DynamoContender {
  public static void main(String[] arguments) throws Exception {
    DynamoDBBasedLockProvider provider = null;
    var orders = new BufferedReader(new InputStreamReader(System.in));
    for (var order = orders.readLine(); order != null; order = orders.readLine()) {
      if (order.startsWith("use\t")) {
        if (provider != null) {
          provider.close();
        }
        provider = new DynamoDBBasedLockProvider(new LockConfiguration(properties(order)), null);
        System.out.println("ready");
      } else if (order.equals("unlock")) {
        provider.unlock();
        System.out.println("free");
      } else {
        System.out.println(provider.tryLock(Long.parseLong(order), TimeUnit.MILLISECONDS) ? "held" : "refused");
      }
    }
  }

  private static TypedProperties properties(String order) {
    var properties = new TypedProperties();
    for (var setting : order.substring("use\t".length()).split("\t")) {
      var end = setting.indexOf('=');
      properties.setProperty(setting.substring(0, end), setting.substring(end + 1));
    }
    return properties;
  }
}
