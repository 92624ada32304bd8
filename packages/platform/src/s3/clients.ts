import { AccError } from '@acc/contract';

/** The packages that this storage needs. They are loaded on first use. */
export interface Clients {
  readonly aws: typeof import('aws4fetch');
  readonly xml: typeof import('fast-xml-parser');
}

/** @throws AccError `ACC_S3_CLIENT_MISSING`. */
export async function importClients(): Promise<Clients> {
  try {
    return { aws: await import('aws4fetch'), xml: await import('fast-xml-parser') };
  } catch (cause) {
    throw new AccError(
      'ACC_S3_CLIENT_MISSING',
      'Buckets (S3) need the packages aws4fetch (signs requests) and fast-xml-parser (reads answers), and at least one of them is not installed.',
      { help: 'npm install aws4fetch fast-xml-parser', cause },
    );
  }
}
