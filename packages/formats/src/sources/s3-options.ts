import type { S3Credentials } from '@acc/platform/s3';

/** How buckets are reached. What is not given comes from the environment variables of AWS. */
export interface S3SourceOptions {
  /** Default: `AWS_REGION` or `AWS_DEFAULT_REGION`, else `us-east-1`. */
  readonly region?: string | undefined;
  /**
   * The endpoint of a service other than Amazon's, for example `https://minio.example:9000`. Default:
   * `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`, else Amazon's.
   */
  readonly endpoint?: string | undefined;
  /** Default: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, read for each request. */
  readonly credentials?: S3Credentials | undefined;
}
