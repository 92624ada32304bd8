export const root: string;
export function tool(name: string): string;
export const tsc: string;
export function run(
  command: string,
  args: readonly string[],
  options?: { env?: Readonly<Record<string, string>>; onOutput?: (text: string) => void },
): Promise<number>;
export function runMain(main: () => Promise<number | void>): Promise<void>;
