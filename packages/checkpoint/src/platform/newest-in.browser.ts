/** A page cannot look into a folder without reading all that is below it. */
export function newestIn(_location: unknown): Promise<undefined> {
  return Promise.resolve(undefined);
}
