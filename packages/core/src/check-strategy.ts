import {
  AccError,
  checkKeys,
  nearestName,
  STRATEGY_MEMBERS,
  STRATEGY_TRAITS,
  TAPE_HOOK_KEYS,
  type Strategy,
} from '@acc/contract';

const WHERE = 'AcceleratorOptions.strategy';
const MEMBERS: readonly string[] = Object.keys(STRATEGY_MEMBERS);
/** Earlier names of members. */
const RENAMED: ReadonlyMap<string, string> = new Map([['partsOf', 'shardsOf']]);
/** One typing error is allowed for each of these letters. */
const LETTERS_PER_ERROR = 5;

/**
 * Rejects unknown traits and hooks of a strategy, former names of members, and members whose names
 * resemble one that the strategy lacks. It may have other members of its own.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION` with the right name.
 */
export function checkStrategy(strategy: Strategy): void {
  for (const key of memberNames(strategy)) {
    const meant = RENAMED.get(key);
    if (meant) throw unknownMember(key, meant, `It is called '${meant}' now.`);
  }
  checkMembers(strategy);
  checkKeys(`${WHERE}.traits`, strategy.traits, STRATEGY_TRAITS);
  if (strategy.tape) checkKeys(`${WHERE}.tape`, strategy.tape, TAPE_HOOK_KEYS);
}

function checkMembers(strategy: Strategy): void {
  const lacking = MEMBERS.filter((member) => !(member in strategy));
  for (const [key, value] of membersOf(strategy)) {
    if (MEMBERS.includes(key)) continue;
    const ofType = lacking.filter((member) => STRATEGY_MEMBERS[member as keyof Strategy] === typeof value);
    const meant = nearestName(key, ofType, ({ length }) => Math.floor(length / LETTERS_PER_ERROR));
    if (meant) {
      throw unknownMember(key, meant, `Did you mean '${meant}'? If the member is your own, rename it.`);
    }
  }
}

function memberNames(strategy: Strategy): string[] {
  return membersOf(strategy).map(([key]) => key);
}

/** The members of an object and of its classes. A getter has no value here, and is not called. */
function membersOf(strategy: Strategy): [name: string, value: unknown][] {
  const members: [string, unknown][] = [];
  for (
    let level: object | null = strategy;
    level && level !== Object.prototype;
    level = Object.getPrototypeOf(level) as object | null
  ) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      if (key !== 'constructor') members.push([key, value]);
    }
  }
  return members;
}

function unknownMember(key: string, nearest: string, help: string): AccError {
  return new AccError('ACC_UNKNOWN_OPTION', `${WHERE}: unknown member '${key}'.`, {
    help,
    details: { where: WHERE, key, nearest, known: MEMBERS },
  });
}
