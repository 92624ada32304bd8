import { performance } from 'node:perf_hooks';
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { observeActions } from '@acc/pipeline';
const W=512,R=64,L=4,M=8;
const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: -1 } });
const layers = Array.from({ length: L }, (_, i) => tf.layers.dense({ name: `layer${i}`, units: W, activation: 'relu', inputShape: [W] }));
const model = tf.sequential({ layers });
accelerator.prepare(model, tf.train.sgd(0.001));
const loss = (a: tf.Tensor, b: tf.Tensor) => a.sub(b).square().mean();
const med=(l:number[])=>[...l].sort((a,b)=>a-b)[l.length>>1]!;
const [xs, ys] = [tf.randomNormal([R*M, W]), tf.randomNormal([R*M, W])];
for (const schedule of (process.argv[2]??'gpipe,1f1b,zeroBubble').split(',') as ('gpipe'|'1f1b'|'zeroBubble')[]) {
const step = accelerator.pipelined(model, loss, { schedule, microBatches: M });
for (let i=0;i<60;i++) step(xs,ys).dispose();
const t: Record<string, number[]> = {forward:[],backward:[],weights:[],step:[],rest:[]};
let sum=0;
observeActions((actions)=>{ sum=0; for (const a of actions){ t[a.kind]!.push(a.end-a.start); sum+=a.end-a.start;} });
for (let i=0;i<Number(process.env['N']??60);i++){ const s=performance.now(); step(xs,ys).dispose(); const d=performance.now()-s; t.step!.push(d); t.rest!.push(d-sum);}
observeActions(undefined);
console.log(schedule, Object.entries(t).filter(([,l])=>l.length).map(([k,l])=>`${k} ${med(l).toFixed(2)}`).join(' '));
}
