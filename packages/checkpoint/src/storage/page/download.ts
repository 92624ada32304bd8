import type { Storage } from '@acc/contract';
import { storageErrorOf } from '@acc/platform';
import { attempt } from './errors.js';
import { readBlob } from './read-blob.js';

/** Gives a blob to the browser as a download. */
export function offer(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser takes the blob when it starts the download, which is after this turn.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** One zip file with all objects of a storage below a prefix. It is not compressed. */
export async function zipOf(storage: Storage, prefix: string): Promise<Blob> {
  const objects = await storage.list(prefix);
  if (objects.length === 0) {
    const doing = `Downloading ${storage.location}/${prefix}`;
    throw storageErrorOf('ACC_STORAGE_NOT_FOUND', doing, 'there is nothing', undefined);
  }
  const { downloadZip } = await import('client-zip');
  const files = objects.map(async ({ key }) => ({
    name: key.slice(prefix.length),
    input: await storage.get(key),
  }));
  return downloadZip(await Promise.all(files)).blob();
}

/** Objects in memory. */
export function memoryStorage(location: string): Storage {
  const objects = new Map<string, Blob>();
  return {
    location,
    async put(key, content) {
      const parts: Blob[] = [];
      const items = content instanceof Uint8Array ? [content] : content;
      for await (const item of items) parts.push(new Blob([item as Uint8Array<ArrayBuffer>]));
      objects.set(key, new Blob(parts));
    },
    get: (key, options = {}) =>
      attempt(`Reading ${location}/${key}`, () => {
        const blob = objects.get(key);
        if (!blob) throw new DOMException('there is none', 'NotFoundError');
        return readBlob(blob, options, `Reading ${location}/${key}`);
      }),
    list(prefix) {
      const keys = Array.from(objects).filter(([key]) => key.startsWith(prefix));
      return Promise.resolve(keys.map(([key, { size }]) => ({ key, bytes: size })));
    },
    delete(keys) {
      for (const key of keys) objects.delete(key);
      return Promise.resolve();
    },
  };
}
