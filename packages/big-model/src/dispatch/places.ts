import { ValueFile } from '#platform/host-memory';

/** Where the values of a weight are while they are not on the device. */
export interface Place {
  write(bytes: Uint8Array): void;
  /** Fills `bytes`. */
  read(bytes: Uint8Array): void;
  /** Another place of the same kind and size. */
  another(): Place;
  /** Nobody uses the place any more. */
  free(): void;
}

/** Host memory, beside a GPU. */
export function onHost(): Place {
  let values = new Uint8Array();
  return {
    write: (bytes) => (values = bytes.slice()),
    read: (bytes) => bytes.set(values),
    another: onHost,
    free: () => (values = new Uint8Array()),
  };
}

/** Places in one file. */
export class PlacesOnDisk implements Disposable {
  #file: InstanceType<typeof ValueFile> | undefined;

  /** @param folder Made if missing. */
  constructor(private readonly folder: string) {}

  /** @throws AccError `ACC_STORAGE_DENIED`, `ACC_STORAGE_FULL`, `ACC_STORAGE_FAILED`. */
  place(byteLength: number): Place {
    const file = (this.#file ??= new ValueFile(this.folder));
    const start = file.reserve(byteLength);
    return {
      write: (bytes) => file.write(start, bytes),
      read: (bytes) => file.read(start, bytes),
      another: () => this.place(byteLength),
      free: () => file.free(start, byteLength),
    };
  }

  [Symbol.dispose](): void {
    this.#file?.close();
    this.#file = undefined;
  }
}
