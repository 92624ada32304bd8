import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"first-slice","description":"","frontmatter":{},"headers":[],"relativePath":"results/first-slice.md","filePath":"bench/results/first-slice.md"}');
const _sfc_main = { name: "results/first-slice.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="first-slice" tabindex="-1">first-slice <a class="header-anchor" href="#first-slice" aria-label="Permalink to &quot;first-slice&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-21; load before the run 0.6. node 20.20.2, tfjs 4.22.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Threads a rank: 1.</p><table tabindex="0"><thead><tr><th>model</th><th>ranks</th><th>parameters</th><th>ours ms</th><th>ours samples/s</th><th>ours efficiency</th><th>ours cores busy</th><th>theirs ms</th><th>theirs samples/s</th><th>theirs efficiency</th><th>theirs cores busy</th><th>ours/theirs</th></tr></thead><tbody><tr><td>convnet</td><td>1</td><td>1,663,370</td><td>51.8 (50.4–53.6)</td><td>1,236</td><td>100 %</td><td>1.07</td><td>67.2 (64.7–69.2)</td><td>952</td><td>100 %</td><td>1.00</td><td>0.77</td></tr><tr><td>convnet</td><td>2</td><td>1,663,370</td><td>112 (100–123)</td><td>1,145</td><td>46 %</td><td>0.58</td><td>122 (108–136)</td><td>1,046</td><td>55 %</td><td>0.62</td><td>0.91</td></tr><tr><td>gpt</td><td>1</td><td>3,241,472</td><td>527 (515–563)</td><td>30</td><td>100 %</td><td>1.04</td><td>385 (370–401)</td><td>42</td><td>100 %</td><td>1.00</td><td>1.37</td></tr><tr><td>gpt</td><td>2</td><td>3,241,472</td><td>586 (570–750)</td><td>55</td><td>90 %</td><td>0.97</td><td>441 (431–516)</td><td>73</td><td>87 %</td><td>0.94</td><td>1.33</td></tr><tr><td>mlp</td><td>1</td><td>101,770</td><td>1.99 (1.56–2.36)</td><td>16,109</td><td>100 %</td><td>1.00</td><td>1.47 (1.14–1.74)</td><td>21,699</td><td>100 %</td><td>0.92</td><td>1.35</td></tr><tr><td>mlp</td><td>2</td><td>101,770</td><td>6.45 (5.26–7.48)</td><td>9,926</td><td>31 %</td><td>0.55</td><td>5.63 (4.48–6.24)</td><td>11,364</td><td>26 %</td><td>0.52</td><td>1.14</td></tr></tbody></table><p>ms: time of one training step, the median of all timed blocks, with the fastest and slowest block. ours/theirs: the ratio of these medians; below 1, ours is faster. The batch is per rank, so samples/s counts all ranks and efficiency is the rate on k ranks through k times that on one. Cores busy: a rank&#39;s CPU time through wall time.</p><ul><li>convnet: convnet, 1.66 M parameters, batch 64</li><li>gpt: GPT, 4 layers, width 256, 4 heads, sequence 128, vocabulary 96, batch 16</li><li>mlp: MLP 784-128-10, batch 32</li></ul><p>Each side 3 times in turn, in new processes; in each, 2 timed blocks of so many steps: convnet 20, gpt 5, mlp 400. Forward, backward, reduction over ranks and Adam in float32; batches are tensors before the clock starts, the loss is read once a block, and a barrier opens and closes each block.</p><p>Repeat it: <code>npm run bench -- --repeats 3 --blocks 2 --name first-slice</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/first-slice.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const firstSlice = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  firstSlice as default
};
