/**
 * The next step where only engine `acc` can do something.
 *
 * @param otherwise What the program does without that engine, such as `leave mixedPrecision out`.
 */
export function engineAdvice(otherwise: string): string {
  const { process } = globalThis as { process?: { readonly versions?: { readonly node?: string } } };
  if (process?.versions?.node === undefined) return `In a page, ${otherwise}.`;
  return `Use engine 'acc' (\`npx acc setup\` installs libtorch), or ${otherwise}.`;
}
