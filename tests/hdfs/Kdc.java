import java.io.File;
import java.util.Arrays;
import java.util.Properties;
import org.apache.hadoop.minikdc.MiniKdc;

/**
 * A Kerberos server on any free port, which it prints as a line of JSON; ends with its input.
 *
 * <p>Arguments: a folder for its data, the realm, a key table to write and the principals in it.
 */
public class Kdc {
  public static void main(String[] arguments) throws Exception {
    try {
      Properties settings = MiniKdc.createConf();
      settings.setProperty(MiniKdc.ORG_NAME, arguments[1].split("\\.")[0]);
      settings.setProperty(MiniKdc.ORG_DOMAIN, arguments[1].split("\\.")[1]);
      MiniKdc server = new MiniKdc(settings, new File(arguments[0]));
      server.start();
      server.createPrincipal(new File(arguments[2]), Arrays.copyOfRange(arguments, 3, arguments.length));
      System.out.println("{\"ok\": " + server.getPort() + "}");
      while (System.in.read() >= 0) {}
    } catch (Exception error) {
      error.printStackTrace();
    }
    Runtime.getRuntime().halt(0); // whatever threads still run
  }
}
