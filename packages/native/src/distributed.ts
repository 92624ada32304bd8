import type { NativeTensor, ReduceOp } from '@acc/contract';
import { addon } from './addon.js';
import { converted, guarded } from './errors.js';
import { requireAlive } from './tensor.js';

export interface StoreOptions {
  readonly host: string;
  readonly port: number;
  /** Whether this process keeps the store; exactly one of a job does. */
  readonly isServer: boolean;
  readonly worldSize: number;
  readonly timeoutMs: number;
}

/** The job's key-value store (c10d's TCPStore). */
export class Store {
  readonly #id: number;

  private constructor(id: number) {
    this.#id = id;
  }

  /** @throws AccError `ACC_PORT_TAKEN`, `ACC_RENDEZVOUS_FAILED`. */
  static async connect(options: StoreOptions): Promise<Store> {
    const { host, port, isServer, worldSize, timeoutMs } = options;
    return new Store(await converted(addon().connectStore(host, port, isServer, worldSize, timeoutMs)));
  }

  /** @internal */
  get id(): number {
    return this.#id;
  }

  set(key: string, value: Uint8Array): void {
    guarded(() => addon().storeSet(this.#id, key, value));
  }

  /** The value of `key`, waited for. @throws AccError `ACC_RENDEZVOUS_FAILED` after `timeoutMs`. */
  async get(key: string, timeoutMs: number): Promise<Uint8Array> {
    return new Uint8Array(await converted(addon().storeGet(this.#id, key, timeoutMs)));
  }

  /** The text under `key`, if somebody has given one. Does not wait. */
  find(key: string): string | undefined {
    return guarded(() => addon().storeFind(this.#id, key));
  }

  /** Gives `key` the text `value`, unless it has one already. Returns the one that it has. */
  agree(key: string, value: string): string {
    return guarded(() => addon().storeAgree(this.#id, key, value));
  }

  close(): void {
    addon().closeStore(this.#id);
  }
}

export interface GlooGroupOptions {
  /** Groups over one store have different names. */
  readonly name: string;
  readonly rank: number;
  readonly size: number;
  /** The address that peers reach this rank by, or the network interface. */
  readonly address: { readonly host: string } | { readonly interface: string };
  readonly timeoutMs: number;
}

/** A collective under way in a {@link ProcessGroup}. Its tensors stay alive until it ends. */
export class Work {
  #id: number;
  readonly #timeoutMs: number;

  /** @internal */
  constructor(id: number, timeoutMs: number) {
    this.#id = id;
    this.#timeoutMs = timeoutMs;
  }

  get isDone(): boolean {
    return this.#id === 0 || addon().isWorkDone(this.#id);
  }

  /** Blocks until it has ended. @throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST`, `ACC_COLLECTIVE_FAILED`. */
  wait(): void {
    if (this.#id === 0) return;
    const id = this.#id;
    this.#id = 0;
    guarded(() => addon().waitWork(id, this.#timeoutMs));
  }
}

/** The numbers are CollectiveKind in cpp/engine/process_group.h. */
const Kind = { broadcast: 0, allReduce: 1, allGather: 2, reduceScatter: 3 } as const;

/** c10d::ReduceOp::RedOpType. Gloo has no mean of its own: callers divide. */
const REDUCE_OPS = { sum: 0, product: 2, min: 3, max: 4 } as const;
export type NativeReduceOp = Exclude<ReduceOp, 'mean'>;

/** A group of processes that call the same collectives in the same order. Tensors must be contiguous. */
export class ProcessGroup {
  readonly #id: number;

  private constructor(
    id: number,
    readonly rank: number,
    readonly size: number,
    readonly timeoutMs: number,
  ) {
    this.#id = id;
  }

  /** Waits until all `size` ranks have come. @throws AccError `ACC_RENDEZVOUS_FAILED`. */
  static async gloo(store: Store, options: GlooGroupOptions): Promise<ProcessGroup> {
    const { name, rank, size, address, timeoutMs } = options;
    const byInterface = 'interface' in address;
    const where = byInterface ? address.interface : address.host;
    const id = await converted(
      addon().createGlooGroup(store.id, name, rank, size, where, byInterface, timeoutMs),
    );
    return new ProcessGroup(id, rank, size, timeoutMs);
  }

  /** `tensor` of `root` over that of every rank, in place. */
  broadcast(tensor: NativeTensor, root: number): Work {
    return this.#start(Kind.broadcast, tensor, undefined, 0, root);
  }

  /** Element by element over ranks, in place. */
  allReduce(tensor: NativeTensor, op: NativeReduceOp): Work {
    return this.#start(Kind.allReduce, tensor, undefined, REDUCE_OPS[op], 0);
  }

  /** Every rank's `input`, one after the other, into `output`, which is `size` times as large. */
  allGather(input: NativeTensor, output: NativeTensor): Work {
    return this.#start(Kind.allGather, input, output, 0, 0);
  }

  /** Reduces `input` over ranks and gives this rank its `1/size` part of it in `output`. */
  reduceScatter(input: NativeTensor, output: NativeTensor, op: NativeReduceOp): Work {
    return this.#start(Kind.reduceScatter, input, output, REDUCE_OPS[op], 0);
  }

  close(): void {
    addon().closeGroup(this.#id);
  }

  #start(
    kind: number,
    input: NativeTensor,
    output: NativeTensor | undefined,
    reduceOp: number,
    root: number,
  ): Work {
    const inputId = requireAlive(input).id;
    const outputId = output ? requireAlive(output).id : 0;
    const work = guarded(() => addon().startCollective(this.#id, kind, inputId, outputId, reduceOp, root));
    return new Work(work, this.timeoutMs);
  }
}
