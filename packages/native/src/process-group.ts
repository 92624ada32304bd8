import type { NativeTensor, ReduceOp } from '@acc/contract';
import { addon, type GroupGiven } from './addon.js';
import { converted, guarded } from './errors.js';
import type { Store } from './store.js';
import { requireAlive, Tensor } from './tensor.js';

export interface GroupOptions {
  /** Groups over one store have different names. */
  readonly name: string;
  readonly rank: number;
  readonly size: number;
  /** How long a collective, or the coming together of the group, may take. */
  readonly timeoutMs: number;
  /** Of a sub-group: the number in the job of each of its ranks, for messages. */
  readonly worldRanks?: readonly number[];
}

/** What moves the bytes of a group, and what it needs for that. */
export type EngineSpec =
  /** Shared memory, for ranks of one host and tensors of the CPU. */
  | { readonly engine: 'shm' }
  /** Sockets. `address`: of this host, that peers reach it by. */
  | { readonly engine: 'gloo'; readonly address: string }
  /**
   * For ranks of several hosts and tensors of the CPU: all-reduces by shared memory inside a host and by Gloo between hosts,
   * everything else by Gloo.
   */
  | { readonly engine: 'hierarchical'; readonly address: string; readonly layout: HostLayout }
  /**
   * The cluster's MPI, for tensors of the CPU, of processes that mpirun or srun has started. The first group of a process has all
   * ranks. `library`: what `buildMpi` built.
   */
  | { readonly engine: 'mpi'; readonly library: string }
  /** NCCL, for tensors on GPUs, of which each rank has one of its own. */
  | { readonly engine: 'nccl'; readonly address: string };

/** Where a rank stands among the hosts of its job. */
export interface HostLayout {
  /** From 0. */
  readonly host: number;
  readonly hosts: number;
  /** Among the ranks of the host. */
  readonly localRank: number;
  readonly localSize: number;
}

/** A collective under way in a {@link ProcessGroup}. Its tensors stay alive until it ends. */
export class Work {
  #id: number;

  /** @internal */
  constructor(id: number) {
    this.#id = id;
  }

  get isDone(): boolean {
    return this.#id === 0 || addon().isWorkDone(this.#id);
  }

  /**
   * Blocks until it has ended.
   *
   * @throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST`, `ACC_COLLECTIVE_FAILED`, `ACC_COLLECTIVE_MISMATCH`.
   */
  wait(): void {
    if (this.#id === 0) return;
    const id = this.#id;
    this.#id = 0;
    guarded(() => addon().waitWork(id));
  }
}

/** The numbers are CollectiveKind in cpp/engine/process_group.h. */
const Kind = {
  broadcast: 0,
  allReduce: 1,
  reduce: 2,
  reduceScatter: 3,
  allGather: 4,
  allToAll: 5,
  send: 6,
  receive: 7,
  allReduceMany: 8,
} as const;

/** ReduceOp there. */
const REDUCE_OPS: Readonly<Record<ReduceOp, number>> = { sum: 0, mean: 1, product: 2, min: 3, max: 4 };

/** Numbers that describe a call, and how many of them ranks must have alike; kCallWords and kComparedWords there. */
export const CALL_WORDS = 20;
export const COMPARED_WORDS = 16;

/** Where what stands in the buffer of arguments: CallSlot in cpp/binding/distributed.cpp. */
const Slot = {
  group: 0,
  kind: 1,
  input: 2,
  output: 3,
  op: 4,
  root: 5,
  isBlocking: 6,
  most: 7,
  counts: 8,
  words: 9,
} as const;
const COUNTS_START = Slot.words + CALL_WORDS;
/** kNewOutput there. */
const NEW_OUTPUT = -1;

/** Arguments of a call into the addon, one buffer for all groups. */
let buffer = new Float64Array(0);

function ensureBuffer(counts: number): void {
  const length = COUNTS_START + counts;
  if (buffer.length >= length) return;
  buffer = new Float64Array(length);
  addon().setCollectiveBuffer(buffer);
}

/** How a collective is called. */
export interface CallOptions {
  /**
   * {@link CALL_WORDS} numbers: the first {@link COMPARED_WORDS} must be alike on all ranks, the last is the call's number.
   */
  readonly words?: readonly number[];
  /** True: returns when it has ended. */
  readonly isBlocking?: boolean;
}

/** A call as a rank's thread tells it while the rank itself cannot. */
export interface LoggedCall {
  /** 0 where the user called nothing. */
  readonly number: number;
  readonly kind: keyof typeof Kind;
  /** Of a message. */
  readonly peer?: number;
  readonly startedMsAgo: number;
  readonly endedMsAgo?: number;
  /** Whether the rank waits for it. */
  readonly isAwaited: boolean;
  readonly words: readonly number[];
}

/** What a rank says when a group has failed: its own report, or its calls, of which there are none where nothing came from it. */
export interface RankAccount {
  readonly report?: string;
  readonly calls?: readonly LoggedCall[];
}

/** Elements for each rank, in the order of ranks. */
export interface UnevenParts {
  readonly sent: readonly number[];
  readonly received: readonly number[];
  /** The most that any rank sends to any other; the same number on every rank. */
  readonly most: number;
}

/**
 * What becomes of calls that differ between ranks. 'refuses': an error on every rank, and the group goes on. 'waits': calls
 * that need something of another rank wait for it, until after some seconds all ranks are told and the group has failed;
 * those that don't may end. 'mixes': anything may happen, and ranks must compare their calls before.
 */
export type OnMismatch = 'refuses' | 'waits' | 'mixes';

/**
 * A group of processes that call the same collectives in the same order. Tensors must be contiguous.
 *
 * Every collective throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST` or `ACC_COLLECTIVE_FAILED` when it starts or
 * is waited for, and unless {@link OnMismatch} is 'mixes' also `ACC_COLLECTIVE_MISMATCH`, whose message is then a JSON array
 * with every rank's words.
 */
export class ProcessGroup {
  readonly #id: number;

  private constructor(
    id: number,
    readonly rank: number,
    readonly size: number,
    readonly onMismatch: OnMismatch,
  ) {
    this.#id = id;
    ensureBuffer(2 * size);
  }

  /**
   * Makes a group. Resolves when all `size` ranks have come.
   *
   * @throws AccError `ACC_ENGINE_UNAVAILABLE` on every rank where one of them cannot use the engine, with reasons;
   * `ACC_RENDEZVOUS_FAILED`, `ACC_PEER_LOST`.
   */
  static async create(store: Store, options: GroupOptions, spec: EngineSpec): Promise<ProcessGroup> {
    const id = await converted(Promise.resolve(createGroup(store, options, spec, false)));
    return new ProcessGroup(id, options.rank, options.size, ON_MISMATCH[spec.engine]);
  }

  /** The same, but blocks until all have come. */
  static createNow(store: Store, options: GroupOptions, spec: EngineSpec): ProcessGroup {
    const id = guarded(() => createGroup(store, options, spec, true)) as number;
    return new ProcessGroup(id, options.rank, options.size, ON_MISMATCH[spec.engine]);
  }

  /** `tensor` of `root` over that of every rank, in place. */
  broadcast(tensor: NativeTensor, root: number, options?: CallOptions): Work {
    return this.#start(Kind.broadcast, tensor, undefined, 0, root, options);
  }

  /** Element by element over ranks; `output` may be `input`. */
  allReduce(input: NativeTensor, output: NativeTensor, op: ReduceOp, options?: CallOptions): Work {
    return this.#start(Kind.allReduce, input, output, REDUCE_OPS[op], 0, options);
  }

  /** Waits for {@link allReduce} into a tensor of its own, which the caller disposes. `input` need not be contiguous. */
  allReduceNow(input: NativeTensor, op: ReduceOp, words?: readonly number[]): Tensor {
    this.#writeCall(Kind.allReduce, requireAlive(input).id, NEW_OUTPUT, REDUCE_OPS[op], 0, words);
    buffer[Slot.isBlocking] = 1;
    guarded(startCollective);
    return new Tensor(buffer[Slot.output]!, input.dtype, input.shape);
  }

  /** Each of `tensors`, of one element type, in place: one collective, and no copies where the engine is shared memory. */
  allReduceMany(tensors: readonly NativeTensor[], op: ReduceOp, options: CallOptions = {}): Work {
    ensureBuffer(tensors.length);
    this.#writeCall(Kind.allReduceMany, 0, 0, REDUCE_OPS[op], 0, options.words);
    buffer[Slot.isBlocking] = options.isBlocking ? 1 : 0;
    buffer[Slot.counts] = tensors.length;
    for (let i = 0; i < tensors.length; i++) buffer[COUNTS_START + i] = requireAlive(tensors[i]!).id;
    return new Work(guarded(startCollective));
  }

  /** The same on `root` only; the other ranks need no `output`. */
  reduce(
    input: NativeTensor,
    output: NativeTensor | undefined,
    op: ReduceOp,
    root: number,
    options?: CallOptions,
  ): Work {
    return this.#start(Kind.reduce, input, output, REDUCE_OPS[op], root, options);
  }

  /** Reduces `input` over ranks and gives this rank its `1/size` part of it in `output`. */
  reduceScatter(input: NativeTensor, output: NativeTensor, op: ReduceOp, options?: CallOptions): Work {
    return this.#start(Kind.reduceScatter, input, output, REDUCE_OPS[op], 0, options);
  }

  /**
   * Every rank's `input`, one after the other, into `output`.
   *
   * @param counts Elements of each rank; without it all have as many.
   */
  allGather(
    input: NativeTensor,
    output: NativeTensor,
    counts: readonly number[] = [],
    options?: CallOptions,
  ): Work {
    buffer.set(counts, COUNTS_START);
    return this.#start(Kind.allGather, input, output, 0, 0, options, counts.length);
  }

  /** Part r of `input` to rank r; what comes goes into `output` in the order of ranks. Without `parts` all are equal. */
  allToAll(input: NativeTensor, output: NativeTensor, parts?: UnevenParts, options?: CallOptions): Work {
    if (!parts) return this.#start(Kind.allToAll, input, output, 0, 0, options);
    buffer.set(parts.sent, COUNTS_START);
    buffer.set(parts.received, COUNTS_START + this.size);
    return this.#start(Kind.allToAll, input, output, 0, 0, options, 2 * this.size, parts.most);
  }

  /** Messages between two ranks arrive in their order; the other side receives as many elements. */
  send(tensor: NativeTensor, toRank: number, options?: CallOptions): Work {
    return this.#start(Kind.send, tensor, undefined, 0, toRank, options);
  }

  receive(tensor: NativeTensor, fromRank: number, options?: CallOptions): Work {
    return this.#start(Kind.receive, tensor, undefined, 0, fromRank, options);
  }

  /** Leaves `report` for the other ranks, who get it by {@link accounts}. To be called when the group has failed. */
  publish(report: string): void {
    addon().groupPublish(this.#id, report);
  }

  /**
   * What each rank says of its last calls, by rank. Waits some seconds for those that can still say something.
   */
  accounts(): RankAccount[] {
    const all = addon().groupAccounts(this.#id);
    return Array.from({ length: this.size }, (_, rank) => {
      const [isReport, text] = [all[2 * rank], all[2 * rank + 1] as string];
      return isReport ? { report: text } : { calls: text.split('\n').filter(Boolean).map(loggedCall) };
    });
  }

  /** Calls under way fail, and those of peers that wait for this rank. */
  close(): void {
    addon().closeGroup(this.#id);
  }

  #start(
    kind: number,
    input: NativeTensor,
    output: NativeTensor | undefined,
    reduceOp: number,
    root: number,
    options: CallOptions = {},
    counts = 0,
    most = 0,
  ): Work {
    const outputId = output ? requireAlive(output).id : 0;
    this.#writeCall(kind, requireAlive(input).id, outputId, reduceOp, root, options.words);
    buffer[Slot.isBlocking] = options.isBlocking ? 1 : 0;
    buffer[Slot.most] = most;
    buffer[Slot.counts] = counts;
    return new Work(guarded(startCollective));
  }

  #writeCall(
    kind: number,
    input: number,
    output: number,
    reduceOp: number,
    root: number,
    words: readonly number[] | undefined,
  ): void {
    buffer[Slot.group] = this.#id;
    buffer[Slot.kind] = kind;
    buffer[Slot.input] = input;
    buffer[Slot.output] = output;
    buffer[Slot.op] = reduceOp;
    buffer[Slot.root] = root;
    buffer[Slot.most] = 0;
    buffer[Slot.counts] = 0;
    for (let i = 0; i < CALL_WORDS; i++) buffer[Slot.words + i] = words ? words[i]! : 0;
  }
}

const ON_MISMATCH: Readonly<Record<EngineSpec['engine'], OnMismatch>> = {
  shm: 'refuses',
  gloo: 'waits',
  hierarchical: 'waits',
  mpi: 'refuses',
  nccl: 'mixes',
};

function createGroup(
  store: Store,
  { name, rank, size, timeoutMs, worldRanks = [] }: GroupOptions,
  spec: EngineSpec,
  isBlocking: boolean,
): number | Promise<number> {
  const numbers = Int32Array.from(worldRanks);
  const given: GroupGiven = [store.id, name, rank, size, timeoutMs, numbers, isBlocking];
  switch (spec.engine) {
    case 'shm':
      return addon().createShmGroup(...given);
    case 'gloo':
      return addon().createGlooGroup(...given, spec.address);
    case 'hierarchical': {
      const { host, hosts, localRank, localSize } = spec.layout;
      return addon().createHierarchicalGroup(...given, spec.address, host, hosts, localRank, localSize);
    }
    case 'mpi':
      return addon().createMpiGroup(...given, spec.library);
    case 'nccl':
      return addon().createNcclGroup(...given, spec.address);
  }
}

/** A line of CallLog::text in cpp/engine/watch. */
function loggedCall(line: string): LoggedCall {
  const [number, kind, peer, started, ended, awaited, ...words] = line.split(' ').map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    ...number[],
  ];
  return {
    number,
    kind: Object.keys(Kind)[kind] as keyof typeof Kind,
    ...(peer >= 0 && { peer }),
    startedMsAgo: started,
    ...(ended >= 0 && { endedMsAgo: ended }),
    isAwaited: awaited >= 0,
    words,
  };
}

function startCollective(): number {
  return addon().startCollective();
}
