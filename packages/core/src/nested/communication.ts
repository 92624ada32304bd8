import type { Collective, Mesh, Traffic } from '@acc/contract';

/** The traffic of this rank along each axis of the mesh since the last report. */
export class Communication {
  readonly #groups: ReadonlyMap<string, Collective>;
  readonly #reported = new Map<string, Traffic>();

  constructor({ mesh, collective }: { readonly mesh: Mesh; readonly collective: Collective }) {
    const groups = new Map<string, Collective>(mesh.axes.map((axis) => [axis, mesh.along(axis)]));
    // One axis may be the group of all ranks.
    if (![...groups.values()].includes(collective)) groups.set('all', collective);
    this.#groups = groups;
  }

  report(): Record<string, Traffic> {
    return Object.fromEntries(
      Array.from(this.#groups, ([axis, { traffic = NOTHING }]) => {
        const before = this.#reported.get(axis) ?? NOTHING;
        this.#reported.set(axis, traffic);
        return [axis, { calls: traffic.calls - before.calls, bytes: traffic.bytes - before.bytes }];
      }),
    );
  }
}

const NOTHING: Traffic = { calls: 0, bytes: 0 };
