/** The sheets that lie over the page, one at a time; the code of each is fetched when it is first opened. */
import { lazy, Match, Switch } from "solid-js";
import type { Sheet } from "../state/panels";
import { useApp } from "./context";
import { late } from "./late";
import { Part } from "./Part";

const Help = lazy(() => import("./Help"));
const Matrix = lazy(() => import("./Matrix"));
const Culprit = lazy(() => import("./Culprit"));
const Compare = lazy(() => import("./Compare"));
const LessonList = lazy(() => import("../lessons/LessonList"));
const Palette = late(() => import("./Palette"));

export function Sheets() {
  const app = useApp();
  const { sheet, open } = app.panels;
  const is = (name: Sheet["name"]) => sheet()?.name === name;
  /** Closes it, unless it has made way for another. */
  const closer = (name: Sheet["name"]) => () => is(name) && open(null);
  const levels = () => {
    const now = sheet();
    return now?.name === "compare" ? now.levels : undefined;
  };
  const reduces = () => {
    const now = sheet();
    return now?.name === "culprit" && now.reduce;
  };
  return (
    <Switch>
      <Match when={is("help")}>
        <Part>
          <Help onClose={closer("help")} />
        </Part>
      </Match>
      <Match when={is("matrix")}>
        <Part>
          <Matrix
            onClose={closer("matrix")}
            onCompare={(levels) => open({ name: "compare", levels })}
          />
        </Part>
      </Match>
      <Match when={levels()}>
        {(chosen) => (
          <Part>
            <Compare levels={chosen()} onClose={closer("compare")} />
          </Part>
        )}
      </Match>
      <Match when={is("culprit")}>
        <Part>
          <Culprit reduce={reduces()} onClose={closer("culprit")} />
        </Part>
      </Match>
      <Match when={is("lessons")}>
        <Part>
          <LessonList onClose={closer("lessons")} />
        </Part>
      </Match>
      <Match when={is("palette")}>
        <Part>
          <Palette onClose={closer("palette")} />
        </Part>
      </Match>
    </Switch>
  );
}
