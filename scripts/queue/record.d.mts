export const RECORD: string;
export function readRecord(): (
  file: string,
  project: string,
) => { readonly processorSeconds: number; readonly seconds: number };
