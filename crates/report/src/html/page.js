// The report's own script: draws the charts in the reader's appearance and once more on light
// paper, and serves the buttons. It requests nothing; vega runs without `eval` (`ast: true`).
(() => {
  "use strict";

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themes = JSON.parse(document.getElementById("themes")?.textContent ?? "null");
  const PAPER_WIDTH = 720;
  const NARROW = 520;
  const WIDE = 900;

  /** The options of vega-embed that every drawing shares. */
  const options = (theme) => ({
    actions: false,
    ast: true,
    config: themes[theme],
    mode: "vega-lite",
    renderer: "svg",
    tooltip: { theme: theme },
  });

  /** A copy of the specification with its size, and a legend no wider than it. */
  const sized = (spec, width, room) => ({
    ...spec,
    width,
    height: spec.usermeta?.height ?? (room < NARROW ? 240 : 320),
    autosize: { type: "fit-x", contains: "padding" },
    config: { legend: { columns: room < NARROW ? 1 : room < WIDE ? 2 : 4 } },
  });

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.name = figure.dataset.chart;
      this.screen = figure.querySelector(".screen");
      this.paper = figure.querySelector(".paper");
      this.spec = JSON.parse(figure.querySelector("script").textContent);
      this.buttons = figure.querySelectorAll("button[data-save]");
      this.view = null;
      this.buttons.forEach((button) =>
        button.addEventListener("click", () => this.save(button.dataset.save)));
    }

    async drawScreen() {
      const theme = dark.matches ? "dark" : "light";
      const spec = sized(this.spec, "container", this.screen.clientWidth);
      this.drawn?.finalize();
      this.drawn = await vegaEmbed(this.screen, spec, options(theme));
      this.figure.dataset.drawn = theme;
    }

    /** The light picture for print and for download, drawn outside the page. */
    async drawPaper() {
      const sheet = document.createElement("div");
      const spec = sized(this.spec, PAPER_WIDTH, PAPER_WIDTH);
      const { view } = await vegaEmbed(sheet, spec, options("light"));
      const picture = new DOMParser().parseFromString(await view.toSVG(), "image/svg+xml");
      this.paper.replaceChildren(document.importNode(picture.documentElement, true));
      this.view = view;
      this.buttons.forEach((button) => { button.disabled = false; });
      this.figure.dataset.paper = "drawn";
    }

    async save(kind) {
      const url = await this.view.toImageURL(kind, kind === "png" ? 2 : 1);
      download(url, `${this.name}.${kind}`);
    }
  }

  function download(url, name) {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  }

  function serveAttachments() {
    for (const block of document.querySelectorAll(".attachment")) {
      const text = block.querySelector("pre").textContent;
      const [copy, file] = block.querySelectorAll("button");
      copy.disabled = file.disabled = false;
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(text);
          copy.textContent = "Copied";
        } catch {
          // Browsers may refuse the clipboard to a local file: leave the text selected instead.
          getSelection().selectAllChildren(block.querySelector("pre"));
          copy.textContent = "Selected";
        }
        setTimeout(() => { copy.textContent = "Copy"; }, 1500);
      });
      file.addEventListener("click", () => {
        const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
        download(url, file.dataset.file);
        setTimeout(() => URL.revokeObjectURL(url), 1000);
      });
    }
  }

  async function drawCharts() {
    if (!themes) return;
    const charts = [...document.querySelectorAll("figure[data-chart]")].map((f) => new Chart(f));
    const drawScreens = () => Promise.all(charts.map((chart) => chart.drawScreen()));
    await drawScreens();
    await Promise.all(charts.map((chart) => chart.drawPaper()));
    dark.addEventListener("change", drawScreens);
    let narrow = innerWidth < NARROW;
    addEventListener("resize", () => {
      if (narrow !== innerWidth < NARROW) {
        narrow = !narrow;
        drawScreens();
      }
    });
  }

  /** A link to a finding opens it, and paper shows all of them. */
  function openFindings() {
    const all = [...document.querySelectorAll("details.finding")];
    const open = () => {
      const fold = document.getElementById(location.hash.slice(1))?.querySelector("details.finding");
      if (fold) fold.open = true;
    };
    let closed = [];
    addEventListener("hashchange", open);
    addEventListener("beforeprint", () => {
      closed = all.filter((fold) => !fold.open);
      closed.forEach((fold) => { fold.open = true; });
    });
    addEventListener("afterprint", () => closed.forEach((fold) => { fold.open = false; }));
    open();
  }

  openFindings();
  serveAttachments();
  drawCharts().finally(() => { document.documentElement.dataset.ready = "yes"; });
})();
