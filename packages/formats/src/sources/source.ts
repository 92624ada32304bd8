import type { S3SourceOptions } from './s3-options.js';

/** A file that can be read in ranges: local, on a server, or in a bucket. */
export interface Source {
  /** The path or address, as messages show it. */
  readonly name: string;
  /** The size in bytes. */
  readonly bytes: number;
  /** Changes when the content does: the time of the last change, or the server's ETag. */
  readonly tag: string;
  /** With it, another thread opens the same source. */
  readonly state: SourceState;
  /**
   * Reads the bytes from `start` up to `end`, all of them.
   *
   * @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_CHANGED`.
   */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** The known facts about a source. With it, another thread opens the source without asking again. */
export interface SourceState {
  readonly location: string;
  readonly bytes: number;
  readonly tag: string;
  /** How its bucket is reached. */
  readonly s3?: S3SourceOptions | undefined;
  readonly http?: HttpLimits | undefined;
}

/** How long servers and buckets may take. */
export interface HttpLimits {
  /**
   * The longest time in milliseconds without an answer, or in which less than `minBytesPerSecond`
   * arrive. The request is then sent once more. Default 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Default 1024. */
  readonly minBytesPerSecond?: number | undefined;
}

export interface SourceOptions {
  /** How long servers and buckets may take. */
  readonly http?: HttpLimits | undefined;
  /** How buckets are reached (`s3://bucket/key`). Default: by the environment variables of AWS. */
  readonly s3?: S3SourceOptions | undefined;
}
