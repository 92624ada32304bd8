import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"How @acc/big-model works","description":"","frontmatter":{},"headers":[],"relativePath":"design/big-model.md","filePath":"packages/big-model/DESIGN.md"}');
const _sfc_main = { name: "design/big-model.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="how-accbig-model-works" tabindex="-1">How @acc/big-model works <a class="header-anchor" href="#how-accbig-model-works" aria-label="Permalink to &quot;How @acc/big-model works&quot;">​</a></h1><p><a href="./../packages/big-model.html">README.md</a> is for users. <a href="./../project/architecture.html">ARCHITECTURE.md</a> has the whole.</p><h2 id="weights-without-memory" tabindex="-1">Weights without memory <a class="header-anchor" href="#weights-without-memory" aria-label="Permalink to &quot;Weights without memory&quot;">​</a></h2><p><code>initEmptyWeights</code> gives each new variable the data id of a deferred tensor. What would make its values is noted: an initializer of tfjs-layers and the seeds that it draws (one number for each random tensor, so this costs no time), or a place in a file for values that were computed already. A read is an error until <code>fillingEmpty</code> opens the weights of a list, as <code>prepare</code> does around <code>Strategy.prepareVariables</code>: there a read makes the values. So a strategy decides how many weights are in memory at a time. <code>fsdp</code> takes over one variable after the other and keeps its shard; what a strategy did not assign is filled afterwards.</p><p>A weight of a dispatched model has the data id of a deferred tensor, too (<code>OffloadedWeight</code>), whose values are read from the host or a file when an operator asks for its memory. Each operator first tells which offloaded weights it uses (<code>offloaded-weights.ts</code>). These stay until it ends; others make room, least recently used first (<code>Residency</code>). A variable that was assigned values has data of its own. The next operator stores it: not the assignment itself, because a fused step of an optimizer assigns memory first and then writes into it.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("design/big-model.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const bigModel = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  bigModel as default
};
