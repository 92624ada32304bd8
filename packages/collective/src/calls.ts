import { AccError, isAccError, type Traffic } from '@acc/contract';
import { CALL_WORDS, operator, tensorOnHost } from '@acc/native';
import {
  codeOfName,
  doAgree,
  encodeDescription,
  formatWords,
  IS_COMPARISON,
  MAX_DIMS,
  mismatch,
  NUMBER,
  type CallDescription,
  type Words,
} from './agreement.js';
import { deadlock } from './deadlock.js';
import { tellFault } from './flight/fault-listeners.js';
import { Fault } from './flight/fault.js';
import { beginObserved } from './flight/observe-collectives.js';
import { Places } from './flight/places.js';
import { FlightRecorder } from './flight/recorder.js';
import { shareLine } from './flight/shared-calls.js';
import type { GroupEngine } from './group-engine.js';
import type { Member } from './member.js';
import { TrafficCounter } from './traffic.js';

const newEmpty = operator('aten::new_empty');

/** Errors after which a group cannot be used any more. */
const FAULTS = [
  'ACC_COLLECTIVE_TIMEOUT',
  'ACC_PEER_LOST',
  'ACC_COLLECTIVE_FAILED',
  'ACC_COLLECTIVE_DEADLOCK',
];

/** State that all `Calls` objects of one group share. */
class Journal {
  isClosed = false;
  lastNumber = 0;
  /** The code of the name that calls are made for; see `codeOfName`. */
  name = 0;
  readonly recorder = new FlightRecorder();
  readonly traffic: TrafficCounter;
  readonly fault: Fault;
  readonly places: Places;

  constructor(
    private readonly group: GroupEngine,
    readonly members: readonly Member[] | undefined,
  ) {
    this.traffic = new TrafficCounter(group.rank, group.size);
    this.fault = new Fault(group, this.recorder, members);
    this.places = new Places(group);
  }

  /** Tells the thread that speaks of long waits, while this one is blocked, what the call is. */
  note(number: number, words: Words): void {
    const line = this.recorder.lastLine;
    if (line === undefined) return;
    shareLine(line);
    this.group.note(number, `${formatWords(words)} at ${line}`);
  }
}

/**
 * Checks that the ranks of a group make the same calls, for engines that would not notice a
 * mismatch by themselves. Records the last calls for error reports.
 */
export class Calls {
  /** The largest number of values that one call exchanges besides its description. */
  readonly #mostNumbers: number;

  static of(group: GroupEngine, members?: readonly Member[]): Calls {
    return new Calls(group, new Journal(group, members), undefined);
  }

  private constructor(
    private readonly group: GroupEngine,
    private readonly journal: Journal,
    private readonly coalesced: readonly (readonly number[])[] | undefined,
  ) {
    this.#mostNumbers = Math.max(MAX_DIMS + 3, group.size);
  }

  /** Returns a `Calls` for coalesced calls, each of which carries several tensors of these shapes. */
  coalescing(shapes: readonly (readonly number[])[]): Calls {
    return new Calls(this.group, this.journal, shapes);
  }

  get isClosed(): boolean {
    return this.journal.isClosed;
  }

  get traffic(): Traffic {
    return this.journal.traffic.total;
  }

  /** Runs `fn` and labels the collectives that it calls with `name`. */
  named<R>(name: string, fn: () => R): R {
    const { journal } = this;
    const before = journal.name;
    journal.name = codeOfName(name);
    try {
      return fn();
    } finally {
      journal.name = before;
    }
  }

  close(): void {
    this.journal.isClosed = true;
  }

  /**
   * Compares the call with those of the other ranks, if the engine does not do so by itself.
   *
   * @returns The encoded description, which the caller passes to the group.
   * @throws AccError `ACC_COLLECTIVE_MISMATCH`, `ACC_COLLECTIVE_CLOSED`.
   */
  agree(call: CallDescription, isAgreed = false): Words {
    const words = this.#begin(call);
    if (!isAgreed && this.#mustCompare(call)) this.#compare(words, []);
    return words;
  }

  /**
   * Compares the call like {@link agree} and gathers the `numbers` of every rank, by rank. Every
   * rank gives the same count of numbers.
   */
  exchange(call: CallDescription, numbers: readonly number[]): Int32Array[] {
    const words = this.#begin(call);
    if (this.group.onMismatch === 'mixes') return this.#compare(words, numbers);
    return this.#gather(words, Int32Array.from(numbers));
  }

  /**
   * Whether this call must be compared before it starts. A root, or a rank whose tensor is empty,
   * does not wait for other ranks in the call itself. It would never notice a mismatch.
   */
  #mustCompare({ root, shape }: CallDescription): boolean {
    const waitsForNobody = root !== undefined || shape?.includes(0);
    return this.group.onMismatch === 'mixes' || (this.group.onMismatch === 'waits' && !!waitsForNobody);
  }

  /**
   * Records a message between two ranks. Messages have no number in the order of the group's calls.
   *
   * @throws AccError `ACC_COLLECTIVE_CLOSED`.
   */
  noteMessage(call: string, sentBytes = 0): void {
    this.#requireOpen();
    if (sentBytes > 0) this.journal.traffic.addMessage(sentBytes);
    this.journal.recorder.record(0, call);
  }

  /** Counts the header of a message. */
  noteHeader(sentBytes: number): void {
    this.journal.traffic.addHeader(sentBytes);
  }

  /** Runs `body`. Errors that it throws then name the call. */
  explained<T>(call: Words | string, body: () => T): T {
    const end = beginObserved();
    try {
      return body();
    } catch (error) {
      throw this.#explain(error, call);
    } finally {
      end?.(() => (typeof call === 'string' ? call : formatWords(call)));
    }
  }

  #begin(call: CallDescription): Words {
    this.#requireOpen();
    const { journal } = this;
    const number = ++journal.lastNumber;
    const words = encodeDescription(call, number, { name: journal.name, coalesced: this.coalesced });
    if (journal.recorder.record(number, words)) journal.note(number, words);
    journal.traffic.add(call);
    return words;
  }

  /**
   * Sends the same number of values in every call, so ranks that make different calls can still
   * compare them.
   */
  #compare(words: Words, numbers: readonly number[]): Int32Array[] {
    const message = new Int32Array(CALL_WORDS + this.#mostNumbers);
    message.set(words);
    message.set(numbers, CALL_WORDS);
    const all = this.#gather(asComparison(words), message);
    const calls = all.map((one) => [...one.subarray(0, CALL_WORDS)]);
    if (!doAgree(calls)) throw this.#mismatch(calls);
    return all.map((one) => one.subarray(CALL_WORDS, CALL_WORDS + numbers.length));
  }

  #gather(words: Words, numbers: Int32Array): Int32Array[] {
    const { size } = this.group;
    using input = tensorOnHost(numbers, 'int32', [numbers.length]);
    using output = newEmpty(input, [numbers.length * size], undefined, undefined, 'cpu');
    this.explained(words, () =>
      this.group.allGather(input, output, undefined, { words, isBlocking: true }).wait(),
    );
    const all = output.read() as Int32Array;
    return Array.from({ length: size }, (_, rank) =>
      all.subarray(rank * numbers.length, (rank + 1) * numbers.length),
    );
  }

  #mismatch(calls: readonly Words[]): AccError {
    const { recorder, members, lastNumber, places } = this.journal;
    const numbers = calls.map((words) => words[NUMBER]!);
    if (numbers[this.group.rank] === lastNumber) recorder.locateLast();
    return mismatch(calls, places.of(numbers, recorder.calls()), members);
  }

  #requireOpen(): void {
    if (!this.isClosed) return;
    throw new AccError('ACC_COLLECTIVE_CLOSED', 'A collective was called after its group was closed.', {
      help: 'Call gather, reduce and other collectives before endTraining or close, and wait for what trains: await model.fit(…).',
    });
  }

  #explain(thrown: unknown, call: Words | string): unknown {
    if (!isAccError(thrown)) return thrown;
    if (thrown.code === 'ACC_COLLECTIVE_MISMATCH') return this.#mismatch(wordsIn(thrown.message));
    const error = thrown.code === 'ACC_COLLECTIVE_DEADLOCK' ? deadlock(thrown) : thrown;
    const name = typeof call === 'string' ? call : `${formatWords(call)}, call ${call[NUMBER]}`;
    if (FAULTS.includes(error.code) && !this.isClosed) {
      return tellFault(this.journal.fault.explained(error, name));
    }
    return new AccError(error.code, `${name}: ${error.message}`, { cause: error });
  }
}

/**
 * Marks a description as part of the exchange before a call. In this exchange ranks meet whatever
 * they are about to call.
 */
function asComparison(words: Words): Words {
  const local = [...words];
  local[IS_COMPARISON] = 1;
  return local;
}

/** Parses the descriptions of all ranks from an error message of the addon, by rank. */
function wordsIn(message: string): Words[] {
  const all = JSON.parse(message) as number[];
  return Array.from({ length: all.length / CALL_WORDS }, (_, rank) =>
    all.slice(rank * CALL_WORDS, (rank + 1) * CALL_WORDS),
  );
}
