import { MESH_AXES, type Mesh, type MeshAxis } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { warnOfAxesBetweenHosts } from './axes-between-hosts.js';

type Sizes = Readonly<Partial<Record<MeshAxis, number>>>;

/** The warnings about a mesh over hosts. Each letter is a rank on the host of that name. */
function said(sizes: Sizes, hosts: string | undefined): string[] {
  const mesh: Pick<Mesh, 'axes' | 'size'> = {
    axes: MESH_AXES.filter((axis) => axis in sizes),
    size: (axis) => sizes[axis] ?? 1,
  };
  const messages: string[] = [];
  warnOfAxesBetweenHosts(mesh, hosts?.split(''), (message) => messages.push(message));
  return messages;
}

describe('a mesh over hosts', () => {
  it.each<[Sizes, string]>([
    [{ data: 2, tensor: 2 }, 'aabb'],
    [{ tensor: 4 }, 'aaaa'],
    [{ data: 3, tensor: 2 }, 'aaaabb'],
    [{ pipeline: 2, data: 2 }, 'aabb'],
    [{ pipeline: 2, fsdp: 2 }, 'abab'],
    [{ data: 2, fsdp: 4, context: 1 }, 'aaaabbbb'],
    [{ data: 2, context: 2, tensor: 2 }, 'aaaabbbb'],
  ])('causes no warning if what talks most is inside: %j on %s', (sizes, hosts) => {
    expect(said(sizes, hosts)).toEqual([]);
  });

  it('causes no warning if nobody knows the hosts', () => {
    expect(said({ tensor: 4 }, undefined)).toEqual([]);
  });

  it.each<[Sizes, string, string, string]>([
    [{ tensor: 4 }, 'aabb', 'tensor', '{ data: 2, tensor: 2 }'],
    [{ data: 2, tensor: 4 }, 'aabbccdd', 'tensor', '{ data: 4, tensor: 2 }'],
    [{ tensor: 2 }, 'ab', 'tensor', '{ data: 2 }'],
    [{ context: 2, tensor: 2 }, 'aabb', 'context', '{ data: 2, tensor: 2 }'],
    [{ pipeline: 2, expert: 4 }, 'aabbccdd', 'expert', '{ pipeline: 2, data: 2, expert: 2 }'],
    [{ fsdp: 2, context: 4 }, 'aabbccdd', 'context', '{ fsdp: 4, context: 2 }'],
    // Only the second line crosses.
    [{ data: 3, tensor: 2 }, 'aaabbb', 'tensor', '{ data: 6 }'],
    [{ tensor: 6 }, 'aaaabb', 'tensor', '{ data: 3, tensor: 2 }'],
  ])('causes one warning with another mesh: %j on %s', (sizes, hosts, axis, instead) => {
    const [message, ...others] = said(sizes, hosts);
    expect(others).toEqual([]);
    expect(message).toMatch(new RegExp(`^acc: the ranks of the mesh axis ${axis} `));
    expect(message).toContain(`mesh: ${instead}`);
    expect(said(sizesIn(instead), hosts)).toEqual([]);
  });

  it('names the ranks and the hosts of the first group that crosses', () => {
    expect(said({ data: 3, tensor: 2 }, 'aaabbb')[0]).toContain('ranks 2, 3 on a, b');
  });

  it('asks for as many ranks on every host if their numbers differ', () => {
    expect(said({ data: 2, tensor: 2 }, 'abbb')[0]).toContain('as many ranks on every host');
    expect(said({ tensor: 4 }, 'aabb')[0]).not.toContain('as many ranks on every host');
  });

  it('asks for other numbers of ranks if those of a host are not neighbours', () => {
    expect(said({ data: 2, tensor: 2 }, 'abab')[0]).toContain('Number the ranks');
  });
});

function sizesIn(text: string): Sizes {
  return Object.fromEntries(
    Array.from(text.matchAll(/(\w+): (\d+)/g), ([, axis, size]) => [axis, Number(size)]),
  );
}
