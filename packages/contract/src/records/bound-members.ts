/**
 * The members of `object` that exist, with methods bound to it. Spreading leaves out those that an
 * object has from its class.
 */
export function boundMembers<T extends object>(object: T, names: readonly (keyof T)[]): T {
  const members = names.flatMap((name) => {
    const member = object[name] as unknown;
    if (member === undefined) return [];
    return [[name, typeof member === 'function' ? (member.bind(object) as unknown) : member] as const];
  });
  return Object.fromEntries(members) as T;
}
