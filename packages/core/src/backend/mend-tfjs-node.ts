import { mendTfjsNode } from '@acc/tfjs-internals';
import { silenceNodeAdvice } from './node-advice.js';

mendTfjsNode();
silenceNodeAdvice();
