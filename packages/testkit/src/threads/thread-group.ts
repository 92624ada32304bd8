import { AccError, PendingResult, type NativeTensor, type Pending, type ReduceOp } from '@acc/contract';
import type { GroupEngine } from '@acc/collective';
import {
  CALL_WORDS,
  COMPARED_WORDS,
  operator,
  type AllToAllCounts,
  type CallOptions,
  type OnMismatch,
  type RankAccount,
  type Tensor,
} from '@acc/native';
import { fill, reduced, sharedElements, tensorOf } from './elements.js';
import type { Packet, Wanted, Wire } from './wire.js';

const newEmpty = operator('aten::new_empty');
const concatenate = operator('aten::cat');
const NO_WORDS: readonly number[] = new Array<number>(CALL_WORDS).fill(0);
/** The number of the call, in its words. */
const NUMBER = CALL_WORDS - 1;

/** A collective that this rank has started. */
interface Started {
  readonly words: readonly number[] | undefined;
  /** The tensors that this rank sends to all others. */
  readonly sent?: readonly NativeTensor[] | undefined;
  readonly counts?: readonly number[];
  /** Gets the packets of all ranks, by rank. */
  finish(packets: readonly Packet[]): void;
}

/**
 * A group of ranks that are threads of one process. Each rank sends its elements to all others, and
 * computes results from those of all ranks, in their order, so that all get the same bits. Ranks
 * compare their calls in each call.
 */
export class ThreadGroup implements GroupEngine {
  readonly rank: number;
  readonly size: number;
  readonly onMismatch: OnMismatch = 'refuses';
  #calls = 0;
  /** The number of messages to and from each rank. */
  readonly #sent: number[] = [];
  readonly #received: number[] = [];
  #report: string | undefined;

  /**
   * @param name The same on each rank of the group, and used by no other group of the run.
   * @param ranks The rank in the run of each rank of the group.
   */
  constructor(
    private readonly wire: Wire,
    private readonly name: string,
    private readonly ranks: readonly number[],
  ) {
    this.rank = ranks.indexOf(wire.rank);
    this.size = ranks.length;
  }

  broadcast(tensor: NativeTensor, root: number, { words }: CallOptions = {}): Pending<void> {
    const sent = this.rank === root ? [tensor] : undefined;
    return this.#start({
      words,
      sent,
      finish: (all) => fill([tensor], tensorOf(all[root]!.bytes!, tensor.dtype)),
    });
  }

  allReduce(input: NativeTensor, output: NativeTensor, op: ReduceOp, options?: CallOptions): Pending<void> {
    return this.#allReduce([input], [output], op, options);
  }

  allReduceNow(input: NativeTensor, op: ReduceOp, words?: readonly number[]): Tensor {
    const output = newEmpty(input as Tensor, input.shape);
    this.allReduce(input, output, op, words && { words }).wait();
    return output;
  }

  allReduceMany(tensors: readonly NativeTensor[], op: ReduceOp, options?: CallOptions): Pending<void> {
    return this.#allReduce(tensors, tensors, op, options);
  }

  #allReduce(
    sent: readonly NativeTensor[],
    outputs: readonly NativeTensor[],
    op: ReduceOp,
    { words }: CallOptions = {},
  ): Pending<void> {
    const { dtype } = sent[0]!;
    return this.#start({ words, sent, finish: (all) => fill(outputs, reduced(bytesOf(all), dtype, op)) });
  }

  reduce(...[input, output, op, , options]: Parameters<GroupEngine['reduce']>): Pending<void> {
    return this.#start({
      words: options?.words,
      sent: [input],
      finish: (all) => output && fill([output], reduced(bytesOf(all), input.dtype, op)),
    });
  }

  reduceScatter(
    input: NativeTensor,
    output: NativeTensor,
    op: ReduceOp,
    options?: CallOptions,
  ): Pending<void> {
    return this.reduceScatterMany([input], output, op, options);
  }

  reduceScatterMany(
    sent: readonly NativeTensor[],
    output: NativeTensor,
    op: ReduceOp,
    { words }: CallOptions = {},
  ): Pending<void> {
    const { dtype, shape } = output;
    const length = shape.reduce((product, size) => product * size, 1);
    const range = [this.rank * length, (this.rank + 1) * length] as const;
    return this.#start({
      words,
      sent,
      finish: (all) => fill([output], reduced(bytesOf(all), dtype, op, range)),
    });
  }

  allGather(
    input: NativeTensor,
    output: NativeTensor,
    _counts?: readonly number[],
    options?: CallOptions,
  ): Pending<void> {
    return this.allGatherMany([input], output, options);
  }

  allGatherMany(
    sent: readonly NativeTensor[],
    output: NativeTensor,
    { words }: CallOptions = {},
  ): Pending<void> {
    const { dtype } = output;
    return this.#start({
      words,
      sent,
      finish: (all) => fill([output], joined(bytesOf(all).map((bytes) => tensorOf(bytes, dtype)))),
    });
  }

  allToAll(
    input: NativeTensor,
    output: NativeTensor,
    counts?: AllToAllCounts,
    { words }: CallOptions = {},
  ): Pending<void> {
    const { dtype } = input;
    const even = input.shape.reduce((product, size) => product * size, 1) / this.size;
    const sent = counts?.sent ?? new Array<number>(this.size).fill(even);
    const partFor = ({ bytes, counts: ofSender }: Packet): Tensor => {
      const start = ofSender!.slice(0, this.rank).reduce((sum, count) => sum + count, 0);
      return tensorOf(bytes!, dtype, start, start + ofSender![this.rank]!);
    };
    return this.#start({
      words,
      sent: [input],
      counts: sent,
      finish: (all) => fill([output], joined(all.map(partFor))),
    });
  }

  send(tensor: NativeTensor, toRank: number): Pending<void> {
    const packet = { words: NO_WORDS, bytes: sharedElements([tensor]) };
    const number = (this.#sent[toRank] = (this.#sent[toRank] ?? 0) + 1);
    this.wire.send(this.ranks[toRank]!, this.#nameOf(`message ${number}`), packet);
    return { isDone: true, wait() {} };
  }

  receive(tensor: NativeTensor, fromRank: number): Pending<void> {
    const number = (this.#received[fromRank] = (this.#received[fromRank] ?? 0) + 1);
    const wanted = this.#wanted(fromRank, `message ${number}`, { peer: this.ranks[fromRank]! });
    return new PendingResult([this.#arrivalOf([wanted])], () => {
      fill([tensor], tensorOf(this.wire.take(wanted).bytes!, tensor.dtype));
    });
  }

  /** Does nothing: long waits between threads are not told. */
  note(): void {}

  publish(_topic: string, report: string): void {
    this.#report = report;
  }

  accounts(): RankAccount[] {
    return this.ranks.map((rank) => {
      if (rank === this.wire.rank && this.#report !== undefined) return { report: this.#report };
      const wait = this.wire.waitOf(rank) as RankWait | undefined;
      if (!wait) return { calls: [] };
      const { number, words, peer } = wait;
      const kind = peer === undefined ? 'allReduce' : 'receive';
      return {
        calls: [
          { number, kind, words, ...(peer !== undefined && { peer }), startedMsAgo: 0, isAwaited: true },
        ],
      };
    });
  }

  close(): void {
    for (const rank of this.ranks) {
      if (rank !== this.wire.rank) this.wire.send(rank, this.#nameOf('closed'), { words: NO_WORDS });
    }
  }

  #nameOf(of: string): string {
    return `${this.name} ${of}`;
  }

  #arrivalOf(all: readonly Wanted[]): Pick<Pending<void>, 'isDone'> {
    const { wire } = this;
    return {
      get isDone() {
        return all.every(({ from, name }) => wire.hasArrived(from, name));
      },
    };
  }

  #wanted(from: number, of: string, call: Pick<RankWait, 'peer'> & Pick<CallOptions, 'words'>): Wanted {
    const { words = NO_WORDS, ...message } = call;
    const wait: RankWait = {
      rank: this.wire.rank,
      for: this.ranks[from]!,
      group: this.size === this.wire.size ? [] : this.ranks,
      number: words[NUMBER]!,
      words,
      isSend: false,
      ...message,
    };
    return { from: wait.for, name: this.#nameOf(of), closed: this.#nameOf('closed'), wait };
  }

  #start({ words = NO_WORDS, sent, counts, finish }: Started): Pending<void> {
    const of = `call ${++this.#calls}`;
    const own: Packet = {
      words,
      ...(sent && { bytes: sharedElements(sent) }),
      ...(counts && { counts }),
    };
    const others = this.ranks.flatMap((_, at) => (at === this.rank ? [] : [this.#wanted(at, of, { words })]));
    for (const { from, name } of others) this.wire.send(from, name, own);
    return new PendingResult([this.#arrivalOf(others)], () => {
      const all = others.map((one) => this.wire.take(one));
      all.splice(this.rank, 0, own);
      requireSameCalls(all);
      finish(all);
    });
  }
}

/** The wait of a rank, as `ProcessGroup` reports it. */
interface RankWait {
  readonly rank: number;
  readonly for: number;
  readonly group: readonly number[];
  readonly number: number;
  readonly words: readonly number[];
  readonly peer?: number;
  readonly isSend: boolean;
}

/** @throws AccError `ACC_COLLECTIVE_MISMATCH`, whose message has the words of all ranks. */
function requireSameCalls(packets: readonly Packet[]): void {
  const [first, ...others] = packets.map(({ words }) => words);
  const areSame = others.every((words) =>
    first!.every((word, i) => i >= COMPARED_WORDS || words[i] === word),
  );
  if (areSame) return;
  throw new AccError('ACC_COLLECTIVE_MISMATCH', JSON.stringify(packets.flatMap(({ words }) => words)));
}

function bytesOf(packets: readonly Packet[]): SharedArrayBuffer[] {
  return packets.map(({ bytes }) => bytes!);
}

/** Joins tensors `[elements]`, which it disposes. */
function joined(parts: readonly Tensor[]): Tensor {
  try {
    return concatenate(parts, 0);
  } finally {
    for (const part of parts) part.dispose();
  }
}
