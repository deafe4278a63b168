import org.apache.hudi.common.fs.FSUtils;
import org.apache.hudi.common.util.hash.HashID;

/** What Hudi's implicit lock providers make of base paths. */
public class HashedPaths {
  public static void main(String[] paths) {
    for (var path : paths) {
      System.out.println(HashID.generateXXHashAsString(FSUtils.s3aToS3(path), HashID.Size.BITS_64));
    }
  }
}
