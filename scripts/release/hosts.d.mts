export const HOSTS: Readonly<Record<string, string>>;
export function hostedBy(folder: string): string[];
export function installedName(name: string): string;
