import { AccError } from '@acc/contract';

/**
 * A promise whose reader is told to wait for it: members of `type` that promises lack throw
 * `ACC_NOT_CREATED` when they are read from the promise.
 *
 * @param type The class of the promised object.
 * @param call What gave the promise, for the message: `Accelerator.create()`.
 */
export function explainWithoutAwait<T extends object>(
  promise: Promise<T>,
  type: { readonly name: string; readonly prototype: T },
  call: string,
): Promise<T> {
  const names = Object.getOwnPropertyNames(type.prototype).filter((name) => !(name in promise));
  for (const name of names) {
    const get = (): never => {
      throw new AccError('ACC_NOT_CREATED', `'${name}' was read from the promise that ${call} returns.`, {
        help: `Wait for it: await ${call}.`,
      });
    };
    void Object.defineProperty(promise, name, { get, configurable: true });
  }
  return promise;
}
