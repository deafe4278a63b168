import java.lang.reflect.Constructor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.http.server.HttpFSServerWebServer;

/** HttpFS on any free port, which it prints as a line of JSON; ends with its input. */
public class HttpFs {
  public static void main(String[] arguments) throws Exception {
    try {
      // Not of its package: what is there HttpFS reads, by a library that does not know Java 17's classes.
      Constructor<HttpFSServerWebServer> constructor =
          HttpFSServerWebServer.class.getDeclaredConstructor(Configuration.class, Configuration.class);
      constructor.setAccessible(true);
      HttpFSServerWebServer server = constructor.newInstance(new Configuration(), new Configuration(false));
      server.start();
      System.out.println("{\"ok\": " + server.getUrl().getPort() + "}");
      while (System.in.read() >= 0) {}
    } catch (Exception error) {
      error.printStackTrace();
    }
    Runtime.getRuntime().halt(0); // whatever threads still run
  }
}
