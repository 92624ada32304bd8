/**
 * Whether a name matches a glob. `*` stands for any characters but `/`, `**` for any, and a `**` before
 * a `/` also for no part at all: `**` + `/q_proj` matches `q_proj` and `h.0/attn/q_proj`.
 */
export function matchesGlob(name: string, glob: string): boolean {
  const parts = glob.split(/(\*\*\/|\*\*|\*)/).map((part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    return part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`, 's').test(name);
}
