import {
  AccError,
  checkKeys,
  nearestName,
  STRATEGY_GROUPS,
  STRATEGY_MEMBERS,
  STRATEGY_TRAITS,
  TAPE_HOOK_KEYS,
  type Strategy,
} from '@acc/contract';

const WHERE = 'AcceleratorOptions.strategy';
type Group = keyof typeof STRATEGY_GROUPS;
const GROUPS = Object.keys(STRATEGY_GROUPS) as Group[];
const MEMBERS: readonly string[] = Object.keys(STRATEGY_MEMBERS);
/** The places of members that had other names. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['partsOf', 'layout.shardsOf'],
  ['shardsOf', 'layout.shardsOf'],
  ['heldBy', 'layout.localOf'],
  ['wholeGradients', 'gradients.full'],
  ['heldGradients', 'gradients.local'],
  ['getState', 'state.get'],
  ['setState', 'state.set'],
]);
/** One typing error is allowed for each of these letters. */
const LETTERS_PER_ERROR = 5;

/**
 * Rejects unknown traits and hooks of a strategy, groups that lack members, former names of members, and
 * members whose names resemble one that the strategy lacks. It may have other members of its own. They
 * may have former names if the strategy has the group.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION` with the right name, `ACC_INVALID_OPTION` for a group that lacks
 * a member.
 */
export function checkStrategy(strategy: Strategy): void {
  for (const key of memberNames(strategy)) {
    const meant = RENAMED.get(key);
    if (meant && !strategy[groupOf(meant)]) {
      throw unknownMember(key, meant, `It is called '${meant}' now.`);
    }
  }
  checkMembers(strategy);
  checkKeys(`${WHERE}.traits`, strategy.traits, STRATEGY_TRAITS);
  if (strategy.tape) checkKeys(`${WHERE}.tape`, strategy.tape, TAPE_HOOK_KEYS);
  for (const name of GROUPS) {
    if (strategy[name]) checkGroup(`${WHERE}.${name}`, strategy[name], STRATEGY_GROUPS[name]);
  }
}

function groupOf(member: string): Group {
  return member.split('.')[0] as Group;
}

function checkGroup(where: string, group: object, members: Readonly<Record<string, string>>): void {
  checkKeys(where, group, Object.keys(members));
  const lacking = Object.keys(members).filter((name) => members[name] === 'required' && !(name in group));
  if (lacking.length === 0) return;
  throw new AccError('ACC_INVALID_OPTION', `${where} is an object without ${lacking.join(', ')}.`, {
    help: 'Its members need each other. Give all of them, or leave the group out.',
    details: { where, lacking },
  });
}

function checkMembers(strategy: Strategy): void {
  // A group's name is a common word, so a member that resembles it may be the program's own.
  const lacking = MEMBERS.filter((member) => !(member in strategy) && !(member in STRATEGY_GROUPS));
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
