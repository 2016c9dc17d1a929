/* Browsers start no Worker in a page that was opened from disk. There, the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const base = new URL(url, location.href);
      const waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.postMessage = (data) => waiting.push(data);
      this.terminate = () => frame.remove();
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => load(next)), Promise.resolve());
      inside.postMessage = (data) => this.tell(data);
      const load = (address) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          script.onload = done;
          script.onerror = failed;
          script.src = new URL(address, base);
          inside.document.body.append(script);
        });
      load(base).then(() => {
        this.postMessage = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        waiting.forEach((data) => this.postMessage(data));
      });
    }
    tell(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
  };
}
