import { isOfThisProject } from '@acc/contract';

/**
 * The numbers of stack frames in which one of the user's program is searched. A frame costs about a
 * microsecond, and most are found among the first.
 */
const LIMITS = [24, 100];

/** A position in a script as V8 runs it, before source maps. */
export interface ScriptPosition {
  /** A path or a URL. */
  readonly script: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** The frame as text, from whoever formats stacks in this process. Undefined if nobody does. */
  readonly text?: string;
}

/** Whether frames belong to the user's program, by script. */
const known = new Map<string, boolean>();

/**
 * The innermost frame of the user's program on the stack: the first one outside of tfjs, this
 * project's packages and Node.js.
 *
 * @param isKnown Whether the caller knows a position. It then gets no text.
 * @param isEnd Whether the search ends at a frame of this project.
 * @returns `'end'` if it ended there. Undefined if there is no frame.
 */
export function userFrame(
  isKnown: (position: ScriptPosition) => boolean,
  isEnd?: (functionName: string | null) => boolean,
): ScriptPosition | 'end' | undefined {
  let searched = 0;
  for (const limit of LIMITS) {
    const sites = callSites(limit);
    for (const site of sites.slice(searched)) {
      const script = site.getFileName() ?? site.getScriptNameOrSourceURL();
      if (!script) continue;
      if (isUsers(script)) return positionOf(site, script, isKnown);
      if (isEnd?.(site.getFunctionName())) return 'end';
    }
    if (sites.length < limit) break;
    searched = limit;
  }
  return undefined;
}

function positionOf(
  site: NodeJS.CallSite,
  script: string,
  isKnown: (position: ScriptPosition) => boolean,
): ScriptPosition {
  const position = { script, line: site.getLineNumber() ?? 0, column: site.getColumnNumber() ?? 0 };
  const format = Error.prepareStackTrace;
  if (typeof format !== 'function' || isKnown(position)) return position;
  return { ...position, text: String(format(new Error(), [site])) };
}

/**
 * Keeps the stack, which takes some microseconds. The returned function searches it as {@link
 * userFrame} does.
 */
export function laterUserFrame(): () => ScriptPosition | undefined {
  const holder = heldStack(LIMITS.at(-1)!, laterUserFrame);
  return () => {
    for (const site of sitesOf(holder)) {
      const script = site.getFileName() ?? site.getScriptNameOrSourceURL();
      if (script && isUsers(script)) return positionOf(site, script, () => false);
    }
    return undefined;
  };
}

function callSites(limit: number): readonly NodeJS.CallSite[] {
  return sitesOf(heldStack(limit, userFrame));
}

interface HeldStack {
  readonly stack?: readonly NodeJS.CallSite[] | string;
}

/** V8 collects the frames now, and calls `prepareStackTrace` when somebody reads them. */
function heldStack(limit: number, above: (...args: never[]) => unknown): HeldStack {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = limit;
  try {
    const holder: HeldStack = {};
    Error.captureStackTrace(holder, above);
    return holder;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function sitesOf(holder: HeldStack): readonly NodeJS.CallSite[] {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_error, sites) => sites;
  try {
    const { stack } = holder;
    return typeof stack === 'object' ? stack : [];
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
}

function isUsers(script: string): boolean {
  let answer = known.get(script);
  if (answer === undefined) {
    answer = isOutside(script.replaceAll('\\', '/'));
    known.set(script, answer);
  }
  return answer;
}

function isOutside(path: string): boolean {
  if (path.startsWith('node:') || path.includes('/node_modules/@tensorflow/')) return false;
  return !isOfThisProject(path);
}
