import { ssrRenderAttrs } from "vue/server-renderer";
import { useSSRContext } from "vue";
import { _ as _export_sfc } from "./plugin-vue_export-helper.1tPrXgE0.js";
const __pageData = JSON.parse('{"title":"How @acc/tracker works","description":"","frontmatter":{},"headers":[],"relativePath":"design/tracker.md","filePath":"packages/tracker/DESIGN.md"}');
const _sfc_main = { name: "design/tracker.md" };
function _sfc_ssrRender(_ctx, _push, _parent, _attrs, $props, $setup, $data, $options) {
  _push(`<div${ssrRenderAttrs(_attrs)}><h1 id="how-acctracker-works" tabindex="-1">How @acc/tracker works <a class="header-anchor" href="#how-acctracker-works" aria-label="Permalink to &quot;How @acc/tracker works&quot;">​</a></h1><p><a href="./../packages/tracker.html">README.md</a> is for users. <a href="./../project/architecture.html">ARCHITECTURE.md</a> has the whole.</p><h2 id="trackers" tabindex="-1">Trackers <a class="header-anchor" href="#trackers" aria-label="Permalink to &quot;Trackers&quot;">​</a></h2><p><code>accelerator.log</code> puts an entry into the lane of each tracker (<code>tracker/src/lane.ts</code>): a queue and at most one call under way. Calls that need no waiting are made at once. Others are made from the event loop, which prepared data gives a turn every 50 ms. An entry leaves the queue when its call has ended well. So an error that says &quot;may succeed later&quot; (<a href="./../errors/trackers.html#acc_tracker_unavailable"><code>ACC_TRACKER_UNAVAILABLE</code></a>), or a call that takes too long, leaves the entry in the queue, and the queue is written to disk.</p><p>Each run has a folder with <code>run.json</code>: the id that each tracker gave the run, which trackers have not got all of it, and the process that delivers it. Where that process is gone, the next <code>initTrackers</code> makes the tracker anew, resumes the run, sends what is on disk and finishes it. Run and steps are part of a checkpoint.</p><p>A process with a run under way listens for its end. After a signal or an uncaught error the run is finished within two seconds, because <code>acc launch</code> kills after three. Then the signal is raised again. While a loop keeps the event loop from turning, signals are left to the system: a program that Ctrl-C does not end is worse than a run that the next program finishes.</p></div>`);
}
const _sfc_setup = _sfc_main.setup;
_sfc_main.setup = (props, ctx) => {
  const ssrContext = useSSRContext();
  (ssrContext.modules || (ssrContext.modules = /* @__PURE__ */ new Set())).add("design/tracker.md");
  return _sfc_setup ? _sfc_setup(props, ctx) : void 0;
};
const tracker = /* @__PURE__ */ _export_sfc(_sfc_main, [["ssrRender", _sfc_ssrRender]]);
export {
  __pageData,
  tracker as default
};
