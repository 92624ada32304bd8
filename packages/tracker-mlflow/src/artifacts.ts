import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { AccError, type TrackedFile } from '@acc/contract';
import type { MlflowClient } from './client.js';

const PROXIED = 'mlflow-artifacts:';

/** The artifact folder of a run on the server. */
export class ArtifactFolder {
  readonly #client: MlflowClient;
  readonly #uri: string;

  /** @param uri The run's `artifact_uri`. */
  constructor(client: MlflowClient, uri: string) {
    this.#client = client;
    this.#uri = uri;
  }

  async putBytes(name: string, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#client.put(this.#path(name), bytes as Uint8Array<ArrayBuffer>, bytes.length, signal);
  }

  /** Streams a file to the server. */
  async putFile(name: string, { path, bytes }: TrackedFile, signal: AbortSignal): Promise<void> {
    const stream = createReadStream(path);
    try {
      await this.#client.put(this.#path(name), Readable.toWeb(stream) as ReadableStream, bytes, signal);
    } finally {
      stream.destroy();
    }
  }

  #path(name: string): string {
    // mlflow-artifacts:/0/abc/artifacts, or mlflow-artifacts://host:port/0/abc/artifacts
    const folder = this.#uri.startsWith(PROXIED)
      ? new URL(this.#uri.slice(PROXIED.length), 'http://x').pathname
      : '';
    if (folder !== '') return `${folder.replace(/^\/+/, '')}/${name}`;
    throw new AccError(
      'ACC_TRACKER_REFUSED',
      `MLflow keeps the files of this run in ${this.#uri}, and does not accept them through its server.`,
      {
        help: 'Start the server with --serve-artifacts (the default) and --artifacts-destination.',
      },
    );
  }
}

/** The path at which MLflow's pages expect an image of a step, without the extension. */
export function imagePath(key: string, step: number, timeMs: number, identity: string): string {
  // The name is a hash of the call, so a repeated call writes the same file.
  const hash = createHash('sha256').update(identity).digest('hex');
  const uuid = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    hash.slice(12, 16),
    hash.slice(16, 20),
    hash.slice(20, 32),
  ].join('-');
  return `images/${key.replaceAll('/', '~')}+step+${step}+timestamp+${timeMs}+${uuid}`;
}
