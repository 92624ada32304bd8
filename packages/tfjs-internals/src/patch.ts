import { AccError } from '@acc/contract';
import { engine, KernelBackend } from '@tensorflow/tfjs-core';

/** The names of the methods of `T`. */
export type MethodName<T> = {
  [Name in keyof T]-?: NonNullable<T[Name]> extends (...args: never[]) => unknown ? Name : never;
}[keyof T];

export type Undo = () => void;

type Method = (this: unknown, ...args: unknown[]) => unknown;
type Make = (own: Method) => Method;

/** One patch of a method. */
interface Link {
  readonly make: Make;
  /** The last argument of `make`, and its result. */
  own?: Method;
  made?: Method;
}

/** All patches of one method of one object. */
interface Slot {
  readonly owner: object;
  readonly name: PropertyKey;
  add(link: Link): void;
  remove(link: Link): void;
}

/** Slots by the function that is installed on the object. */
const slots = new WeakMap<object, Slot>();

/** A patch that has not been undone. */
interface LivePatch {
  readonly owner: WeakRef<object>;
  readonly name: string;
}
const live = new Set<LivePatch>();
/** Patches of objects that were garbage collected no longer count. */
const collected = new FinalizationRegistry<LivePatch>((patch) => live.delete(patch));

/**
 * Lists the patches by {@link patch} and {@link patchProperty} that have not been undone, as
 * `Class.member`, sorted. A member with several patches is listed several times. Objects that no
 * code refers to any more are left out once they are garbage collected.
 */
export function livePatches(): readonly string[] {
  return [...live]
    .filter(({ owner }) => owner.deref() !== undefined)
    .map(({ name }) => name)
    .sort();
}

/**
 * Replaces a method of `owner` until the returned function is called. A method may have several
 * patches: the latest runs first, and each calls the one before it by `own`. They may be undone in
 * any order. After the last one is undone, the property is as before: own or inherited, enumerable
 * or not.
 *
 * A replacement that other code has installed on top stays. Its calls then pass through to tfjs's
 * own method.
 *
 * @param make Returns the replacement. `own` is the method below, to be called by `own.call(owner,
 * …)`. `make` is called again when a patch below it is undone, so it must not keep state.
 * @throws AccError `ACC_TFJS_CHANGED` if `owner` has no such method.
 */
export function patch<T extends object, Name extends MethodName<T>>(
  owner: T,
  name: Name,
  make: (own: T[Name]) => T[Name],
): Undo {
  const slot = slotOf(owner, name);
  const link: Link = { make: make as unknown as Make };
  slot.add(link);
  const end = count(owner, name);
  return () => {
    end();
    slot.remove(link);
  };
}

/**
 * Replaces a method of `owner` until the process ends. Calls reach the replacement directly, so
 * this is for methods that every operator calls.
 *
 * @throws AccError `ACC_TFJS_CHANGED` if `owner` has no such method.
 */
export function replaceForGood<T extends object, Name extends MethodName<T>>(
  owner: T,
  name: Name,
  make: (own: T[Name]) => T[Name],
): void {
  put(owner, name, (make as unknown as Make)(methodOf(owner, name)));
}

/**
 * Defines a property of `owner` until the returned function is called. An existing property is
 * restored then.
 */
export function patchProperty(owner: object, name: PropertyKey, descriptor: PropertyDescriptor): Undo {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { ...descriptor, configurable: true });
  const end = count(owner, name);
  return () => {
    end();
    if (before) Object.defineProperty(owner, name, before);
    else Reflect.deleteProperty(owner, name);
  };
}

/** Adds a patch to the live ones. Returns a function that removes it. */
function count(owner: object, name: PropertyKey): () => void {
  const patch: LivePatch = { owner: new WeakRef(owner), name: `${classNameOf(owner)}.${String(name)}` };
  live.add(patch);
  collected.register(owner, patch, patch);
  return () => {
    live.delete(patch);
    collected.unregister(patch);
  };
}

function slotOf(owner: object, name: PropertyKey): Slot {
  const method = methodOf(owner, name);
  const slot = slots.get(method);
  return slot?.owner === owner && slot.name === name ? slot : newSlot(owner, name, method);
}

function newSlot(owner: object, name: PropertyKey, own: Method): Slot {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  const links: Link[] = [];
  let top = own;
  const installed: Method = function (...args) {
    return top.apply(this, args);
  };
  const chain = () => {
    top = links.reduce((below, link) => over(link, below), own);
  };
  const slot: Slot = {
    owner,
    name,
    add(link) {
      links.push(link);
      chain();
      put(owner, name, installed);
    },
    remove(link) {
      const index = links.indexOf(link);
      if (index < 0) return;
      links.splice(index, 1);
      chain();
      const isOnTop = Object.getOwnPropertyDescriptor(owner, name)?.value === installed;
      if (links.length === 0 && isOnTop) restore(owner, name, before, own);
    },
  };
  slots.set(installed, slot);
  return slot;
}

/** The method of `link` on top of `below`. */
function over(link: Link, below: Method): Method {
  if (link.own !== below) {
    link.own = below;
    link.made = link.make(below);
  }
  return link.made!;
}

function restore(
  owner: object,
  name: PropertyKey,
  before: PropertyDescriptor | undefined,
  own: Method,
): void {
  if (before) Object.defineProperty(owner, name, before);
  else if (isInEveryOperator(owner)) put(owner, name, own);
  else Reflect.deleteProperty(owner, name);
}

/**
 * V8 turns an object into a dictionary when a property is deleted. With such an engine every
 * operator takes 50 % longer.
 */
function isInEveryOperator(owner: object): boolean {
  return owner === engine() || owner instanceof KernelBackend;
}

/** Sets an own method. It is enumerable if the method that it replaces is. */
function put(owner: object, name: PropertyKey, value: Method): void {
  const present = descriptorOf(owner, name)!;
  Object.defineProperty(owner, name, {
    value,
    writable: true,
    configurable: true,
    enumerable: present.enumerable ?? false,
  });
}

function descriptorOf(owner: object, name: PropertyKey): PropertyDescriptor | undefined {
  for (let each: object | null = owner; each; each = Object.getPrototypeOf(each) as object | null) {
    const descriptor = Object.getOwnPropertyDescriptor(each, name);
    if (descriptor) return descriptor;
  }
  return undefined;
}

function methodOf(owner: object, name: PropertyKey): Method {
  const method = (owner as Record<PropertyKey, unknown>)[name];
  if (typeof method === 'function') return method as Method;
  throw new AccError('ACC_TFJS_CHANGED', `${classNameOf(owner)} has no method '${String(name)}'.`, {
    help: 'Install a release of tfjs 4 from 4.22.',
    details: { method: String(name), found: typeof method },
  });
}

function classNameOf(owner: object): string {
  return (owner.constructor as { name?: string } | undefined)?.name || 'an object of tfjs';
}
