export {
  areCredentials,
  Bucket,
  notUnderstood,
  type Answer,
  type BucketOptions,
  type ListedObject,
  type S3Credentials,
} from './s3/bucket.js';
export { elementIn, parseXml, textIn, type XmlElement } from './s3/xml.js';
