import { storageErrorOf } from '@acc/platform';
import { elementIn, notUnderstood, parseXml, textIn, type Bucket } from '@acc/platform/s3';

/** The number of parts that are sent concurrently. */
const SENDERS = 4;

/** The upload of an object in several parts. */
export class Upload {
  readonly #etags: string[] = [];
  readonly #sending = new Set<Promise<void>>();
  #error: Error | undefined;

  private constructor(
    private readonly bucket: Bucket,
    private readonly key: string,
    private readonly id: string,
  ) {}

  static async begin(bucket: Bucket, key: string): Promise<Upload> {
    const { text } = await bucket.request('POST', key, { query: { uploads: '' } });
    const id = textIn(elementIn(await parseXml(text), 'InitiateMultipartUploadResult'), 'UploadId');
    if (id === undefined) throw notUnderstood(`Beginning ${key}`);
    return new Upload(bucket, key, id);
  }

  /**
   * Sends a part. Resolves when another part may be sent.
   *
   * @param body Must not change until the upload has ended.
   */
  async send(body: Uint8Array): Promise<void> {
    const sent = this.#sendPart(this.#etags.push('') - 1, body)
      .catch((error: Error) => void (this.#error ??= error))
      .finally(() => this.#sending.delete(sent));
    this.#sending.add(sent);
    if (this.#sending.size >= SENDERS) await Promise.race(this.#sending);
    if (this.#error) throw this.#error;
  }

  async #sendPart(part: number, body: Uint8Array): Promise<void> {
    const query = { partNumber: String(part + 1), uploadId: this.id };
    const { headers } = await this.bucket.request('PUT', this.key, { query, body });
    this.#etags[part] = headers.get('etag') ?? '';
  }

  async complete(): Promise<void> {
    await Promise.all(this.#sending);
    if (this.#error) throw this.#error;
    const parts = this.#etags.map(
      (tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag}</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const { text } = await this.bucket.request('POST', this.key, { query: { uploadId: this.id }, body });
    // The service may send a success status and fail afterwards.
    const answer = await parseXml(text);
    if ('CompleteMultipartUploadResult' in answer) return;
    const code = textIn(elementIn(answer, 'Error'), 'Code');
    const doing = `Completing ${this.key}`;
    throw code ? storageErrorOf('ACC_STORAGE_FAILED', doing, code, undefined) : notUnderstood(doing);
  }

  /** Tells the service to discard the parts, if it can be reached. */
  async abort(): Promise<void> {
    await Promise.all(this.#sending);
    await this.bucket.request('DELETE', this.key, { query: { uploadId: this.id } }).catch(() => {});
  }
}

/** Collects the bytes of one request. */
export class Part {
  readonly #buffer: Uint8Array;
  #length = 0;

  constructor(size: number) {
    this.#buffer = new Uint8Array(size);
  }

  get isFull(): boolean {
    return this.#length === this.#buffer.length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Copies as many bytes as there is room for, and returns the rest. */
  take(bytes: Uint8Array): Uint8Array {
    const taken = bytes.subarray(0, this.#buffer.length - this.#length);
    this.#buffer.set(taken, this.#length);
    this.#length += taken.length;
    return bytes.subarray(taken.length);
  }
}
