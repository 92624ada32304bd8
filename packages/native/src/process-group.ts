import type { NativeTensor, ReduceOp } from '@acc/contract';
import { addon, type GroupArguments } from './addon.js';
import type { EngineSpec } from './engine-spec.js';
import { converted, guarded } from './errors.js';
import { timesOf, type Patience } from './patience.js';
import type { Store } from './store.js';
import { requireAlive, Tensor } from './tensor.js';
import { Work } from './work.js';

export interface GroupOptions {
  /** The name of the group. It must be unique in its store. */
  readonly name: string;
  readonly rank: number;
  readonly size: number;
  /** The time limit for each collective, in milliseconds. */
  readonly timeoutMs: number;
  /** The time limit for the creation of the group, in milliseconds. Default `timeoutMs`. */
  readonly joinTimeoutMs?: number;
  /** Default `DEFAULT_PATIENCE`. */
  readonly patience?: Patience;
  /** For a sub-group: the rank in the job of each of its ranks, for messages. */
  readonly worldRanks?: readonly number[];
}

/** CollectiveKind in cpp/engine/groups/process_group.h. */
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
  reduceScatterMany: 9,
  allGatherMany: 10,
} as const;

/** ReduceOp in cpp/engine/groups/process_group.h. */
const REDUCE_OPS: Readonly<Record<ReduceOp, number>> = { sum: 0, mean: 1, product: 2, min: 3, max: 4 };

/** The words of a call, and how many of them are compared: kCallWords and kComparedWords in C++. */
export const CALL_WORDS = 20;
export const COMPARED_WORDS = 16;

/** Positions in the argument buffer: CallSlot in cpp/binding/distributed.cpp. */
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
/** kNewOutput in cpp/binding/distributed.cpp. */
const NEW_OUTPUT = -1;

/** The argument buffer for calls into the addon. All groups share it. */
let buffer = new Float64Array(0);

function ensureBuffer(counts: number): void {
  const length = COUNTS_START + counts;
  if (buffer.length >= length) return;
  buffer = new Float64Array(length);
  addon().setCollectiveBuffer(buffer);
}

/** Options of a collective call. */
export interface CallOptions {
  /**
   * {@link CALL_WORDS} numbers that describe the call. The first {@link COMPARED_WORDS} must be the
   * same on all ranks. The last is the number of the call.
   */
  readonly words?: readonly number[];
  /** Whether the call returns only after the collective has ended. */
  readonly isBlocking?: boolean;
}

/** A call of a rank, reported by the rank's watch thread while the rank itself is blocked. */
export interface LoggedCall {
  /** The number of the call. 0 if the user did not make it. */
  readonly number: number;
  readonly kind: keyof typeof Kind;
  /** The other rank of a message. */
  readonly peer?: number;
  readonly startedMsAgo: number;
  readonly endedMsAgo?: number;
  /** Whether the rank is waiting for the call. */
  readonly isAwaited: boolean;
  readonly words: readonly number[];
}

/** A rank's report after a failure, or its calls. The list is empty if the rank did not answer. */
export interface RankAccount {
  readonly report?: string;
  readonly calls?: readonly LoggedCall[];
}

/** The number of elements for each rank, in the order of ranks. */
export interface AllToAllCounts {
  readonly sent: readonly number[];
  readonly received: readonly number[];
  /** The most elements that any rank sends to any other. It must be the same on every rank. */
  readonly most: number;
}

/**
 * The behaviour of an engine if calls differ between ranks. 'refuses': every rank gets an error,
 * and the group remains usable. 'waits': calls that need other ranks wait. After some seconds all
 * ranks get an error, and the group has failed. Calls that do not need other ranks may succeed.
 * 'mixes': the result is undefined, so ranks must compare their calls first.
 */
export type OnMismatch = 'refuses' | 'waits' | 'mixes';

/**
 * A group of processes that call the same collectives in the same order. Tensors must be
 * contiguous.
 *
 * Every collective throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST`,
 * `ACC_COLLECTIVE_FAILED` or `ACC_COLLECTIVE_DEADLOCK`, whose message is a JSON array of waits
 * (RankWait in cpp/engine/groups/watch), when it starts or in `wait`. Unless {@link OnMismatch} is 'mixes', it
 * also throws `ACC_COLLECTIVE_MISMATCH`, whose message is a JSON array with the words of every
 * rank.
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
   * Creates a group. Resolves when all `size` ranks have joined.
   *
   * @throws AccError `ACC_ENGINE_UNAVAILABLE`, with reasons, on every rank if one of them cannot
   * use the engine; `ACC_RENDEZVOUS_FAILED`, `ACC_PEER_LOST`.
   */
  static async create(store: Store, options: GroupOptions, spec: EngineSpec): Promise<ProcessGroup> {
    const id = await converted(Promise.resolve(createGroup(store, options, spec, false)));
    return new ProcessGroup(id, options.rank, options.size, ON_MISMATCH[spec.engine]);
  }

  /** Like {@link create}, but blocks until all ranks have joined. */
  static createNow(store: Store, options: GroupOptions, spec: EngineSpec): ProcessGroup {
    const id = guarded(() => createGroup(store, options, spec, true)) as number;
    return new ProcessGroup(id, options.rank, options.size, ON_MISMATCH[spec.engine]);
  }

  /** Copies the `tensor` of `root` to the `tensor` of every rank, in place. */
  broadcast(tensor: NativeTensor, root: number, options?: CallOptions): Work {
    return this.#start(Kind.broadcast, tensor, undefined, 0, root, options);
  }

  /** Reduces elementwise over ranks. `output` may be `input`. */
  allReduce(input: NativeTensor, output: NativeTensor, op: ReduceOp, options?: CallOptions): Work {
    return this.#start(Kind.allReduce, input, output, REDUCE_OPS[op], 0, options);
  }

  /**
   * Runs {@link allReduce} into a new tensor and waits for it. The caller disposes the result.
   * `input` need not be contiguous.
   */
  allReduceNow(input: NativeTensor, op: ReduceOp, words?: readonly number[]): Tensor {
    this.#writeCall(Kind.allReduce, requireAlive(input).id, NEW_OUTPUT, REDUCE_OPS[op], 0, words);
    buffer[Slot.isBlocking] = 1;
    guarded(startCollective);
    return new Tensor(buffer[Slot.output]!, input.dtype, input.shape);
  }

  /** Reduces `tensors` of one dtype in place, in one collective. Shared memory copies nothing. */
  allReduceMany(tensors: readonly NativeTensor[], op: ReduceOp, options: CallOptions = {}): Work {
    ensureBuffer(tensors.length);
    this.#writeCall(Kind.allReduceMany, 0, 0, REDUCE_OPS[op], 0, options.words);
    return this.#startMany(tensors, options.isBlocking);
  }

  /**
   * Reduces the elements of `tensors`, one after the other, over ranks. They have one dtype.
   * `output` receives this rank's `1/size` shard of the result. Shared memory reads the tensors
   * where they are; other engines join them first.
   */
  reduceScatterMany(
    tensors: readonly NativeTensor[],
    output: NativeTensor,
    op: ReduceOp,
    options: CallOptions = {},
  ): Work {
    ensureBuffer(tensors.length);
    this.#writeCall(Kind.reduceScatterMany, 0, requireAlive(output).id, REDUCE_OPS[op], 0, options.words);
    return this.#startMany(tensors, options.isBlocking);
  }

  /**
   * Gathers the elements of `tensors`, one after the other, from all ranks. They have one dtype and
   * on every rank the same number of elements. Shared memory reads the tensors where they are; other
   * engines join them first.
   */
  allGatherMany(tensors: readonly NativeTensor[], output: NativeTensor, options: CallOptions = {}): Work {
    ensureBuffer(tensors.length);
    this.#writeCall(Kind.allGatherMany, 0, requireAlive(output).id, 0, 0, options.words);
    return this.#startMany(tensors, options.isBlocking);
  }

  /** Reduces elementwise to `root`. Other ranks need no `output`. */
  reduce(
    input: NativeTensor,
    output: NativeTensor | undefined,
    op: ReduceOp,
    root: number,
    options?: CallOptions,
  ): Work {
    return this.#start(Kind.reduce, input, output, REDUCE_OPS[op], root, options);
  }

  /** Reduces `input` over ranks. `output` receives this rank's `1/size` shard of the result. */
  reduceScatter(input: NativeTensor, output: NativeTensor, op: ReduceOp, options?: CallOptions): Work {
    return this.#start(Kind.reduceScatter, input, output, REDUCE_OPS[op], 0, options);
  }

  /**
   * Concatenates the `input` of every rank into `output`.
   *
   * @param counts The number of elements of each rank. Default: all ranks have the same number.
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

  /** Sends shard r of `input` to rank r. `output` gets the shards by rank. Default: equal shards. */
  allToAll(input: NativeTensor, output: NativeTensor, counts?: AllToAllCounts, options?: CallOptions): Work {
    if (!counts) return this.#start(Kind.allToAll, input, output, 0, 0, options);
    buffer.set(counts.sent, COUNTS_START);
    buffer.set(counts.received, COUNTS_START + this.size);
    return this.#start(Kind.allToAll, input, output, 0, 0, options, 2 * this.size, counts.most);
  }

  /** Sends a message, which arrives in order. The receiver must expect as many elements. */
  send(tensor: NativeTensor, toRank: number, options?: CallOptions): Work {
    return this.#start(Kind.send, tensor, undefined, 0, toRank, options);
  }

  receive(tensor: NativeTensor, fromRank: number, options?: CallOptions): Work {
    return this.#start(Kind.receive, tensor, undefined, 0, fromRank, options);
  }

  /** Notes the call and the line that a message names if this rank waits long in collective `number`. */
  note(number: number, call: string): void {
    addon().groupNote(this.#id, number, call);
  }

  /** Publishes `report` on `topic` after a failure. Other ranks get it from {@link accounts}. */
  publish(topic: string, report: string): void {
    addon().groupPublish(this.#id, topic, report);
  }

  /** The reports of all ranks on `topic`, by rank. Waits some seconds for ranks that can still report. */
  accounts(topic: string): RankAccount[] {
    const all = addon().groupAccounts(this.#id, topic);
    return Array.from({ length: this.size }, (_, rank) => {
      const [isReport, text] = [all[2 * rank], all[2 * rank + 1] as string];
      return isReport ? { report: text } : { calls: text.split('\n').filter(Boolean).map(loggedCall) };
    });
  }

  /** Closes the group. Pending calls fail, and so do calls of peers that wait for this rank. */
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

  /** Starts the call that the buffer describes, on a list of tensors. */
  #startMany(tensors: readonly NativeTensor[], isBlocking = false): Work {
    buffer[Slot.isBlocking] = isBlocking ? 1 : 0;
    buffer[Slot.counts] = tensors.length;
    for (let i = 0; i < tensors.length; i++) buffer[COUNTS_START + i] = requireAlive(tensors[i]!).id;
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
  { name, rank, size, worldRanks = [], ...given }: GroupOptions,
  spec: EngineSpec,
  isBlocking: boolean,
): number | Promise<number> {
  const numbers = Int32Array.from(worldRanks);
  const group: GroupArguments = [store.id, name, rank, size, timesOf(given), numbers, isBlocking];
  switch (spec.engine) {
    case 'shm':
      return addon().createShmGroup(...group);
    case 'gloo':
      return addon().createGlooGroup(...group, spec.address);
    case 'hierarchical': {
      const { host, hosts, localRank, localSize } = spec.layout;
      return addon().createHierarchicalGroup(...group, spec.address, host, hosts, localRank, localSize);
    }
    case 'mpi':
      return addon().createMpiGroup(...group, spec.library);
    case 'nccl':
      return addon().createNcclGroup(...group, spec.address, spec.streamWaits ?? false);
  }
}

/** Parses a line of CallLog::text in cpp/engine/groups/watch. */
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
