import { AccError } from '@acc/contract';
import { engine, KernelBackend } from '@tensorflow/tfjs-core';
import { callsThrough, mustComeFirst, rankOf, type PatchLayer } from './patch-layers.js';

/** The names of the methods of `T`. */
export type MethodName<T> = {
  [Name in keyof T]-?: NonNullable<T[Name]> extends (...args: never[]) => unknown ? Name : never;
}[keyof T];

export type Undo = () => void;

type Method = (this: unknown, ...args: unknown[]) => unknown;
type Make = (own: Method) => Method;

/** One patch of a method. */
interface Link {
  readonly layer: PatchLayer;
  readonly make: Make;
  /** The last argument of `make`, and its result. */
  own?: Method;
  made?: Method;
}

/** Patches of one method of one object, between two functions of others. */
interface Slot {
  /** The function on the object. */
  readonly installed: Method;
  /** Whether the object itself had a method before. */
  readonly wasOwn: boolean;
  /** The lowest layer comes first. */
  readonly links: readonly Link[];
  add(link: Link): void;
  remove(link: Link): void;
}

/** The slots of a method, the lowest first: several if other code has replaced the method in between. */
type Slots = Slot[];

const slotsOfObjects = new WeakMap<object, Map<PropertyKey, Slots>>();

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
 * patches, in the order of their layers: the last layer runs first, and each patch calls the one
 * below it by `own`. Patches may be installed and undone in any order, as programs create, prepare,
 * compile and share models in any order. After the last one is undone, the property is as before:
 * own or inherited, enumerable or not.
 *
 * A replacement that other code has installed on top stays. Its calls then pass through to tfjs's
 * own method.
 *
 * @param layer The place of the patch among the others of the method.
 * @param make Returns the replacement. `own` is the method below, to be called by `own.call(owner,
 * …)`. `make` is called again when the patch below it changes, so it must not keep state.
 * @throws AccError `ACC_TFJS_CHANGED` if `owner` has no such method. `ACC_PATCH_ORDER` if a later
 * layer is there already and this one must come first.
 */
export function patch<T extends object, Name extends MethodName<T>>(
  owner: T,
  name: Name,
  layer: PatchLayer,
  make: (own: T[Name]) => T[Name],
): Undo {
  const slot = slotFor(owner, name, layer);
  const link: Link = { layer, make: make as unknown as Make };
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

/** Whether a method of `owner` itself has a patch of the layer. */
export function isPatched(owner: object, name: PropertyKey, layer: PatchLayer): boolean {
  return slotsOf(owner, name).some(({ links }) => links.some((link) => link.layer === layer));
}

/**
 * Whether `owner` itself has a method that may compute something else than its class: one of other
 * code, or a patch. Patches that always call the method below them do not count.
 */
export function isReplaced(owner: object, name: PropertyKey): boolean {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  if (!own) return false;
  const [slot, ...others] = slotsOf(owner, name);
  if (!slot || others.length > 0 || slot.wasOwn || own.value !== slot.installed) return true;
  return !slot.links.every(({ layer }) => callsThrough(layer));
}

/** The slot for a patch of the layer: the one with a patch of a later layer, or the one on top. */
function slotFor(owner: object, name: PropertyKey, layer: PatchLayer): Slot {
  const method = methodOf(owner, name);
  const slots = slotsOf(owner, name);
  for (const slot of slots) {
    const later = slot.links.find((link) => rankOf(link.layer) > rankOf(layer));
    if (!later) continue;
    if (mustComeFirst(layer) && !callsThrough(later.layer))
      throw wrongOrder(owner, name, [layer, later.layer]);
    return slot;
  }
  return slots.find(({ installed }) => installed === method) ?? newSlot(owner, name, { own: method, slots });
}

function slotsOf(owner: object, name: PropertyKey): Slots {
  let ofObject = slotsOfObjects.get(owner);
  if (!ofObject) slotsOfObjects.set(owner, (ofObject = new Map<PropertyKey, Slots>()));
  let slots = ofObject.get(name);
  if (!slots) ofObject.set(name, (slots = []));
  return slots;
}

/** A slot on top of `own`, which it adds to the slots of the method. */
function newSlot(
  owner: object,
  name: PropertyKey,
  { own, slots }: { readonly own: Method; readonly slots: Slots },
): Slot {
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
    installed,
    wasOwn: before !== undefined,
    links,
    add(link) {
      const later = links.findIndex(({ layer }) => rankOf(layer) > rankOf(link.layer));
      links.splice(later < 0 ? links.length : later, 0, link);
      chain();
    },
    remove(link) {
      const index = links.indexOf(link);
      if (index < 0) return;
      links.splice(index, 1);
      chain();
      const isOnTop = Object.getOwnPropertyDescriptor(owner, name)?.value === installed;
      if (links.length > 0 || !isOnTop) return;
      slots.splice(slots.indexOf(slot), 1);
      restore(owner, name, before, own);
    },
  };
  slots.push(slot);
  put(owner, name, installed);
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

function wrongOrder(
  owner: object,
  name: PropertyKey,
  [layer, later]: readonly [PatchLayer, PatchLayer],
): AccError {
  const method = `${classNameOf(owner)}.${String(name)}`;
  return new AccError(
    'ACC_PATCH_ORDER',
    `${method} was patched by the layer '${later}', and the layer '${layer}' must come before it.`,
    {
      help: `Call what adds '${layer}' before what adds '${later}'.`,
      details: { method, layer, later },
    },
  );
}

function classNameOf(owner: object): string {
  return (owner.constructor as { name?: string } | undefined)?.name || 'an object of tfjs';
}
