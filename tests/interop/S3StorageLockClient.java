package org.apache.hudi.aws.transaction.lock;

import com.amazonaws.AmazonServiceException;
import com.amazonaws.auth.AWSStaticCredentialsProvider;
import com.amazonaws.auth.BasicAWSCredentials;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.s3.AmazonS3;
import com.amazonaws.services.s3.AmazonS3ClientBuilder;
import com.amazonaws.services.s3.model.ObjectMetadata;
import com.amazonaws.services.s3.model.PutObjectRequest;
import com.amazonaws.services.s3.model.S3Object;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Properties;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/**
 * The store's part of Hudi's storage lock, by the name that Hudi loads it by: Hudi's own is in a jar that Maven Central does not
 * have for 1.x. All the rest of the lock is Hudi's. Two requests, each with the condition that Hudi's own client sends.
 */
public class S3StorageLockClient implements StorageLockClient {
  private final AmazonS3 s3;
  private final String bucket;
  private final String key;

  public S3StorageLockClient(String owner, String file, Properties properties) {
    URI place = URI.create(file);
    bucket = place.getAuthority();
    key = place.getPath().substring(1);
    s3 = AmazonS3ClientBuilder.standard()
        .withEndpointConfiguration(new EndpointConfiguration(System.getProperty("hudictl.s3.endpoint"), "us-east-1"))
        .withCredentials(new AWSStaticCredentialsProvider(new BasicAWSCredentials("any", "any")))
        .withPathStyleAccessEnabled(true)
        .build();
  }

  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    try (S3Object found = s3.getObject(bucket, key)) {
      String version = found.getObjectMetadata().getETag();
      return Pair.of(LockGetResult.SUCCESS, Option.of(StorageLockFile.createFromStream(found.getObjectContent(), version)));
    } catch (AmazonServiceException error) {
      LockGetResult result = error.getStatusCode() == 404 ? LockGetResult.NOT_EXISTS : LockGetResult.UNKNOWN_ERROR;
      return Pair.of(result, Option.empty());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData lock, Option<StorageLockFile> previous) {
    byte[] body = StorageLockFile.toByteArray(lock);
    ObjectMetadata metadata = new ObjectMetadata();
    metadata.setContentLength(body.length);
    PutObjectRequest request = new PutObjectRequest(bucket, key, new ByteArrayInputStream(body), metadata);
    if (previous.isPresent()) {
      request.putCustomRequestHeader("If-Match", "\"" + previous.get().getVersionId() + "\"");
    } else {
      request.putCustomRequestHeader("If-None-Match", "*");
    }
    try {
      return Pair.of(LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(lock, s3.putObject(request).getETag())));
    } catch (AmazonServiceException error) {
      boolean changed = error.getStatusCode() == 412;
      return Pair.of(changed ? LockUpsertResult.ACQUIRED_BY_OTHERS : LockUpsertResult.UNKNOWN_ERROR, Option.empty());
    }
  }

  /** What Hudi 1.1 asks for beside the lock: whether an audit is configured. */
  public Option<String> readObject(String file, boolean checkExistsFirst) {
    return Option.empty();
  }

  public boolean writeObject(String file, String content) {
    return false;
  }

  public void close() {
    s3.shutdown();
  }
}
