import { AccError, isAccError } from '@acc/contract';
import { CALL_WORDS, operator, tensorFrom, type ProcessGroup } from '@acc/native';
import {
  encodeDescription,
  formatWords,
  MAX_DIMS,
  mismatch,
  requireAgreement,
  type CallDescription,
  type Words,
} from './agreement.js';

const newEmpty = operator('aten::new_empty');

/** Compares the calls of a group's ranks before anything can block or mix. */
export class Calls {
  isClosed = false;

  /** Numbers that a call exchanges at most beside its description. */
  readonly #mostNumbers: number;

  /** @param coalesced Shapes of the tensors that each call carries, where it carries several. */
  constructor(
    private readonly group: ProcessGroup,
    private readonly coalesced?: readonly (readonly number[])[],
  ) {
    this.#mostNumbers = Math.max(MAX_DIMS + 3, group.size);
  }

  /**
   * Makes sure that all ranks call the same, where the group doesn't find out by itself.
   *
   * @returns The description, to be handed to the group.
   * @throws AccError `ACC_COLLECTIVE_MISMATCH`, `ACC_COLLECTIVE_CLOSED`.
   */
  agree(call: CallDescription, isAgreed = false): Words {
    this.#requireOpen();
    const words = encodeDescription(call, this.coalesced);
    if (!isAgreed && !this.group.comparesCalls) this.#compare(words, []);
    return words;
  }

  /** The same, and every rank's `numbers`, as many from each, by rank. */
  exchange(call: CallDescription, numbers: readonly number[]): Int32Array[] {
    this.#requireOpen();
    const words = encodeDescription(call, this.coalesced);
    if (this.group.comparesCalls) return this.#gather(words, Int32Array.from(numbers));
    return this.#compare(words, numbers);
  }

  /** As much on every call, so that ranks which call different things can tell. */
  #compare(words: Words, numbers: readonly number[]): Int32Array[] {
    const message = new Int32Array(CALL_WORDS + this.#mostNumbers);
    message.set(words);
    message.set(numbers, CALL_WORDS);
    const all = this.#gather(words, message);
    requireAgreement(all.map((one) => [...one.subarray(0, CALL_WORDS)]));
    return all.map((one) => one.subarray(CALL_WORDS, CALL_WORDS + numbers.length));
  }

  /** Runs `body`, whose errors then name the call. */
  explained<T>(words: Words, body: () => T): T {
    try {
      return body();
    } catch (error) {
      throw explain(error, words);
    }
  }

  #gather(words: Words, numbers: Int32Array): Int32Array[] {
    const { size } = this.group;
    using input = tensorFrom(numbers, 'int32', [numbers.length]);
    using output = newEmpty(input, [numbers.length * size]);
    this.explained(words, () =>
      this.group.allGather(input, output, undefined, { words, isBlocking: true }).wait(),
    );
    const all = output.read() as Int32Array;
    return Array.from({ length: size }, (_, rank) =>
      all.subarray(rank * numbers.length, (rank + 1) * numbers.length),
    );
  }

  #requireOpen(): void {
    if (!this.isClosed) return;
    throw new AccError('ACC_COLLECTIVE_CLOSED', 'A collective was called after the group had been closed.');
  }
}

function explain(error: unknown, words: Words): unknown {
  if (!isAccError(error)) return error;
  if (error.code === 'ACC_COLLECTIVE_MISMATCH') {
    const all = JSON.parse(error.message) as number[];
    return mismatch(
      Array.from({ length: all.length / CALL_WORDS }, (_, rank) =>
        all.slice(rank * CALL_WORDS, (rank + 1) * CALL_WORDS),
      ),
    );
  }
  return new AccError(error.code, `${formatWords(words)}: ${error.message}`, { cause: error });
}
