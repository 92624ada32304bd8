import { AwsClient } from 'aws4fetch';
import type { S3Credentials } from '@acc/checkpoint';
import { freePort } from '@acc/testkit';
import { startServer, type Background } from '../trackers/background.js';
import { venv } from '../trackers/python/venv.js';

/** The requests before signatures are checked, because a user must exist first. */
const UNSIGNED_ACTIONS = 4;
const POLICY = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: '*' }] };

/**
 * A server with the protocol of Amazon S3 (moto). It verifies signatures and keeps objects in
 * memory.
 */
export class S3Server {
  private constructor(
    readonly endpoint: string,
    readonly credentials: S3Credentials,
    private readonly running: Background,
  ) {}

  /** Starts a server with one bucket and one user with all permissions. */
  static async start(bucket: string): Promise<S3Server> {
    const python = await venv('s3');
    const port = await freePort('127.0.0.1');
    const endpoint = `http://127.0.0.1:${port}`;
    const running = await startServer(python.bin('moto_server'), ['-H', '127.0.0.1', '-p', String(port)], {
      url: `${endpoint}/moto-api/`,
      env: { INITIAL_NO_AUTH_ACTION_COUNT: String(UNSIGNED_ACTIONS) },
    });
    const nobody = { accessKeyId: 'nobody', secretAccessKey: 'nothing', region: 'us-east-1' };
    const iam = new AwsClient({ ...nobody, service: 'iam' });
    const ask = async (action: string, more: Record<string, string> = {}) => {
      const query = new URLSearchParams({
        Action: action,
        Version: '2010-05-08',
        UserName: 'trainer',
        ...more,
      });
      return (await iam.fetch(`${endpoint}/?${query}`, { method: 'POST' })).text();
    };
    await ask('CreateUser');
    await ask('PutUserPolicy', { PolicyName: 'all', PolicyDocument: JSON.stringify(POLICY) });
    const created = await ask('CreateAccessKey');
    const value = (name: string) => new RegExp(`<${name}>(.*?)</${name}>`).exec(created)![1]!;
    const credentials = { accessKeyId: value('AccessKeyId'), secretAccessKey: value('SecretAccessKey') };
    const s3 = new AwsClient({ ...nobody, service: 's3' });
    await s3.fetch(`${endpoint}/${bucket}`, { method: 'PUT' });
    return new S3Server(endpoint, credentials, running);
  }

  stop(): Promise<void> {
    return this.running.stop();
  }
}
