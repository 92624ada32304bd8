import { isRecord } from '@acc/contract';
import type { LastCall, RankStack } from '../server/answers.js';

type Answer = Readonly<Record<string, unknown>>;

const NO_STACK =
  'in native code, where no stack of JavaScript can be read: it computes, or waits for other ranks, the disk or a processor';

/** The answer of a rank as the page shows it. Undefined: it is no such answer. */
export function stackOf(rank: number, answer: Answer): RankStack | undefined {
  const { pid, at, calls, line, isInCollective, collectives } = answer;
  if (typeof pid !== 'number' || typeof at !== 'number' || !Array.isArray(calls)) return undefined;
  const main = isRecord(answer.main) ? answer.main : {};
  const isIn = isInCollective === true;
  return {
    rank,
    pid,
    place: placeOf(main, isIn),
    thread: threadText(answer.thread),
    frames: texts(main.frames),
    isInCollective: isIn,
    collectives: Number(collectives) || 0,
    calls: calls.flatMap((call: unknown) => callOf(call, at)),
    line: typeof line === 'string' ? line : undefined,
  };
}

function placeOf({ state, waitsFor, reason }: Answer, isInCollective: boolean): string {
  switch (state) {
    case 'javascript':
      return 'in JavaScript';
    case 'event loop': {
      const waits = texts(waitsFor);
      const what = waits.length > 0 ? `, which waits for ${waits.join(', ')}` : '';
      return `in the event loop${what}: no JavaScript runs, so there is no stack`;
    }
    case 'native':
      return isInCollective ? 'in a collective, where it waits for other ranks' : NO_STACK;
    default:
      return `not known: ${typeof reason === 'string' ? reason : 'the rank did not say'}`;
  }
}

const STATES: Readonly<Record<string, string>> = {
  R: 'runs or waits for a processor',
  S: 'sleeps',
  D: 'waits for a disk or a device',
  T: 'is stopped',
  t: 'is stopped by a debugger',
};

/** The state of the main thread by Linux. Undefined: it says nothing. */
function threadText(thread: unknown): string | undefined {
  if (!isRecord(thread)) return undefined;
  const { state, waitsIn } = thread;
  const text = STATES[String(state)];
  if (text === undefined) return undefined;
  return typeof waitsIn === 'string' && waitsIn !== '' ? `${text} in ${waitsIn}` : text;
}

function callOf(call: unknown, now: number): LastCall[] {
  if (!isRecord(call)) return [];
  const { number, call: text, at } = call;
  if (typeof number !== 'number' || typeof text !== 'string' || typeof at !== 'number') return [];
  return [{ number, call: text, secondsAgo: Math.max(0, (now - at) / 1000) }];
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}
