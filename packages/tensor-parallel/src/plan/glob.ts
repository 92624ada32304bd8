/** Whether a name matches a glob: `*` stands for any characters but `/`, and `**` for any. */
export function matchesGlob(name: string, glob: string): boolean {
  const parts = glob.split(/(\*\*|\*)/).map((part) => {
    if (part === '**') return '.*';
    return part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`).test(name);
}
