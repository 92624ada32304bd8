import { makeFolder } from '#platform/libtorch';
import { addon } from './addon.js';
import { guarded } from './errors.js';
import { requireAlive, type Tensor } from './tensor.js';

/** Bytes. Direct I/O needs places of this alignment. It must match `kAlignment` in cpp/engine/files/tensor_file.h. */
const ALIGNMENT = 4096;

/**
 * A file for the elements of CPU tensors that leave memory for a while. Reads and writes run on
 * threads of the addon, one for each, while the program computes. They bypass the page cache
 * where the file system has direct I/O.
 *
 * The file belongs to this object. It is removed by `dispose`, at the end of the process, and by
 * SIGINT, SIGTERM and SIGHUP. After a SIGKILL, the next {@link TensorFile} in the same folder
 * removes it. A file that somebody else deletes stays usable, because it is open.
 *
 * The error of a failed transfer is thrown by {@link FileTransfer.wait}.
 */
export class TensorFile implements Disposable {
  readonly #id: number;
  /** The end of the reserved places. */
  #end = 0;
  /** Places that are free again, by their size. */
  readonly #free = new Map<number, number[]>();
  #isDisposed = false;

  /**
   * @param folder Is made if it is missing. Several processes may share it.
   * @param label A part of the file's name.
   * @throws AccError `ACC_STORAGE_DENIED`, `ACC_STORAGE_FULL` if the file cannot be created.
   */
  constructor(folder: string, label: string) {
    const at = makeFolder(folder);
    this.#id = guarded(() => addon().openTensorFile(at, `${label}-${process.pid}`));
  }

  get path(): string {
    return guarded(() => addon().tensorFilePath(this.#id));
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /** Reserves a place for `bytes` bytes. Returns its offset. */
  reserve(bytes: number): number {
    const size = aligned(bytes);
    const free = this.#free.get(size)?.pop();
    if (free !== undefined) return free;
    const offset = this.#end;
    this.#end += size;
    return offset;
  }

  /** Gives back a place of {@link reserve}, with the same number of bytes. */
  free(offset: number, bytes: number): void {
    const size = aligned(bytes);
    const list = this.#free.get(size);
    if (list) list.push(offset);
    else this.#free.set(size, [offset]);
  }

  /**
   * Starts to fill tensors from their places. The tensors must not be used before the end. Places
   * that follow each other are read together.
   *
   * @param tensors Row-major CPU tensors with elements. The caller still owns the handles, and may
   * dispose them at once.
   * @param offsets A place for each tensor.
   * @throws AccError `ACC_INVALID_ARGUMENT` for other tensors.
   */
  read(tensors: readonly Tensor[], offsets: readonly number[]): FileTransfer {
    return this.#start(false, tensors, offsets);
  }

  /**
   * Starts to write tensors to their places. The tensors must not change before the end. A read of
   * these places must start after that. Otherwise as {@link read}.
   */
  write(tensors: readonly Tensor[], offsets: readonly number[]): FileTransfer {
    return this.#start(true, tensors, offsets);
  }

  /** Removes the file. Transfers that have not begun fail. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    addon().closeTensorFile(this.#id);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #start(isWrite: boolean, tensors: readonly Tensor[], offsets: readonly number[]): FileTransfer {
    const ids = Float64Array.from(tensors, (tensor) => requireAlive(tensor).id);
    return new FileTransfer(
      guarded(() => addon().startTransfer(this.#id, isWrite, ids, Float64Array.from(offsets))),
    );
  }
}

/** A read or write on its way. */
export class FileTransfer {
  #isWaited = false;
  #error: unknown;

  constructor(private readonly id: number) {}

  /**
   * Waits for the end. May be called again.
   *
   * @throws AccError `ACC_STORAGE_FULL`, `ACC_STORAGE_FAILED`; `ACC_OFFLOAD_DAMAGED` if the file was
   * truncated.
   */
  wait(): void {
    if (!this.#isWaited) {
      this.#isWaited = true;
      try {
        guarded(() => addon().waitTransfer(this.id));
      } catch (error) {
        this.#error = error;
      }
    }
    if (this.#error) throw this.#error as Error;
  }
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
