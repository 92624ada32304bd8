import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"checkpoint","description":"","frontmatter":{},"headers":[],"relativePath":"results/checkpoint.md","filePath":"bench/results/checkpoint.md"}');
const _sfc_main = { name: "results/checkpoint.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="checkpoint" tabindex="-1">checkpoint <a class="header-anchor" href="#checkpoint" aria-label="Permalink to &quot;checkpoint&quot;">​</a></h1><p>Intel(R) Xeon(R) Processor, 2 cores, 24 GiB, Linux 6.18.44-fc-v669; 2026-11-22; load before the run 0.9. node 20.20.2, tfjs 4.22.0, libtorch 2.13.0, python 3.11.7, torch 2.13.0+cpu, accelerate 1.15.0. Device: cpu. Precision: fp32.</p><table tabindex="0"><thead><tr><th></th><th>ours, ms</th><th>theirs, ms</th><th>ours/theirs</th></tr></thead><tbody><tr><td>save: ours is synced to the disk, theirs is not</td><td>827 (818–870)</td><td>1,125 (884–3,020)</td><td>0.73</td></tr><tr><td>save, both synced</td><td>827 (818–870)</td><td>1,633 (1,382–3,564)</td><td>0.51</td></tr><tr><td>load</td><td>225 (201–245)</td><td>1,490 (550–2,506)</td><td>0.16</td></tr><tr><td>load, and the first step</td><td>1,453 (1,330–1,648)</td><td>3,741 (1,830–4,719)</td><td>0.42</td></tr></tbody></table><table tabindex="0"><thead><tr><th>the same bytes</th><th>ms</th><th>GB/s</th><th>our rate to it</th></tr></thead><tbody><tr><td>write and fsync, one chunk after the other</td><td>3,897 (3,573–4,230)</td><td>0.31</td><td>475 %</td></tr><tr><td>past the cache, three chunks at a time</td><td>545 (511–557)</td><td>2.19</td><td>66 %</td></tr><tr><td>our save</td><td>827 (818–870)</td><td>1.44</td><td>100 %</td></tr></tbody></table><p>An async save stands still for 14 ms, 2 % of the blocking one (at most 3 %). While it is written, 10 steps that take 3,547 ms alone take 3,765 ms, 21 % of the blocking save more: threads that share the cores, and memory for what changes before it is written.</p><p>A GPT with 99 M weights and Adam&#39;s state, 1.19 GB, on one rank of one thread: <code>saveState</code> and <code>loadState</code> beside <code>save_state</code> and <code>load_state</code>. Medians of 5 repeats, with the least and the most; ratios are medians of each repeat&#39;s. Saves are of one process a side that goes on; what was there before is deleted and synced first. Loads are the first of a new process that has prepared model and optimizer, of files that are in the system&#39;s cache. Ours maps large tensors and compares their checksums, so that memory for what the first step changes is taken then; theirs has no checksums.</p><p>Repeat it: <code>npm run bench:checkpoint</code></p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("results/checkpoint.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const checkpoint = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  checkpoint as default
};
