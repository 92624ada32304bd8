import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"How @acc/experts works","description":"","frontmatter":{},"headers":[],"relativePath":"design/experts.md","filePath":"packages/experts/DESIGN.md"}');
const _sfc_main = { name: "design/experts.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="how-accexperts-works" tabindex="-1">How @acc/experts works <a class="header-anchor" href="#how-accexperts-works" aria-label="Permalink to &quot;How @acc/experts works&quot;">​</a></h1><p><a href="./../packages/experts.html">README.md</a> is for users. <a href="./../project/architecture.html">ARCHITECTURE.md</a> has the whole.</p><h2 id="a-mixture-of-experts" tabindex="-1">A mixture of experts <a class="header-anchor" href="#a-mixture-of-experts" aria-label="Permalink to &quot;A mixture of experts&quot;">​</a></h2><p><code>moe</code> (<code>transformer/src/moe</code>) reads the router&#39;s choices, and sorts tokens by expert on the host (<code>routing.ts</code>). Each expert multiplies its own rows, so nothing is padded. Rows are copied by index in both directions (<code>row-map.ts</code>), and the gradient of such a copy is the inverse copy. The weights of all experts are one variable for each matrix, whose dim 0 is the expert. <code>markCut</code> says that it may be divided there.</p><p>Where the mesh has the axis <code>expert</code>, <code>expertParallel</code> stands around <code>ddp</code> or <code>fsdp</code>. A marked variable becomes a unit of its own, whose chunk on each rank is whole experts. <code>holdPart</code> gives the layer this rank&#39;s part and the group of the ranks with the others. The layer&#39;s operators use the part, a variable of its own, and are never given whole values. The gradient driver puts the part in the place of the variable when a program asks for the variable&#39;s gradient, and refuses a loss that uses all of it. Rows go to the ranks of their experts and back by <code>allToAll</code>, once the ranks have exchanged their numbers (<code>dispatch.ts</code>).</p><p>A layer adds a term to the training&#39;s loss without knowing that loss: an operator that changes nothing in the forward pass gives the term its gradient in backward (<code>currentPass().addLoss</code>), times the seed with which the gradient driver began the pass.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("design/experts.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const experts = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  experts as default
};
