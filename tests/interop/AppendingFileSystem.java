import java.net.URI;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * Local files under a scheme that Hudi 0.15 appends to. Hadoop's own local file system refuses to append, and Hudi does
 * not even ask it. Compiled by the judge with Janino.
 */
public class AppendingFileSystem extends RawLocalFileSystem {
    public URI getUri() {
        return URI.create("dfs:///");
    }

    public String getScheme() {
        return "dfs";
    }
}
