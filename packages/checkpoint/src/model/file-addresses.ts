import { io } from '@tensorflow/tfjs-core';
import { modelFiles } from './model-json.js';

const SCHEME = 'file://';

type Router = (url: string | string[]) => io.IOHandler;

/**
 * Makes `model.save('file://folder')`, `tf.loadLayersModel('file://folder/model.json')` and
 * `tf.loadGraphModel` work in Node.js without tfjs-node. The rest of the address is a path, relative to
 * the working directory unless it starts with `/`, as in tfjs-node. If tfjs-node is loaded too, its own
 * handlers are used.
 */
export function registerFileAddresses(): void {
  let isAsking = false;
  const routerBeside = (handlersOf: (url: string) => io.IOHandler[]): Router => {
    const route = (url: string | string[]) => {
      if (isAsking || typeof url !== 'string' || !url.startsWith(SCHEME)) return null;
      isAsking = true;
      try {
        return handlersOf(url).length > 0 ? null : modelFiles(url.slice(SCHEME.length));
      } finally {
        isAsking = false;
      }
    };
    // tfjs skips a router that returns null. Its type does not say so.
    return route as Router;
  };
  io.registerSaveRouter(routerBeside((url) => io.getSaveHandlers(url)));
  io.registerLoadRouter(routerBeside((url) => io.getLoadHandlers(url)));
}
