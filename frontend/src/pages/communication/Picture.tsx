// A picture of who wrote to whom: a pill for each, an arrow for each direction with its badge.
import { useId } from "react";

import { classes } from "~/ui";
import { type Arrow, PILL, type Picture as Drawn, type Place } from "./circle";
import styles from "./Picture.module.css";

interface Look {
  name?: string;
  /** The second line of its pill. */
  below: string;
  /** It is at work, or has failed last. */
  tone?: "busy" | "bad" | undefined;
}

interface PictureProps {
  picture: Drawn;
  /** The keys of the arrow that is chosen and of the latest one, '' for none. */
  chosen: string;
  latest: string;
  badgeOf: (arrow: Arrow) => string;
  titleOf: (arrow: Arrow) => string;
  lookOf: (place: Place) => Look;
  onChoose: (key: string) => void;
}

/** For eyes and the mouse: a list beside it is the same for keys and screen readers. */
export function Picture({ picture, chosen, latest, badgeOf, titleOf, lookOf, onChoose }: PictureProps) {
  const { width, height, places, arrows } = picture;
  const id = useId();
  return (
    <div className={styles.picture}>
      <svg viewBox={`0 0 ${width} ${height}`} style={{ maxHeight: height * 1.25 }} aria-hidden="true">
        <defs>
          {["plain", "marked"].map((name) => (
            <marker key={name} id={`${id}${name}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0 0 8 4 0 8z" className={styles[`${name}Head`]} />
            </marker>
          ))}
        </defs>
        {arrows.map((arrow) => {
          const isChosen = arrow.key === chosen;
          const isLatest = arrow.key === latest;
          const isMarked = isChosen || (!chosen && isLatest);
          const badge = badgeOf(arrow);
          const half = Math.max(14, 7 + badge.length * 3.6);
          const looks = classes(
            styles.arrow,
            isMarked && styles.marked,
            isLatest && styles.latest,
            chosen !== "" && !isChosen && !isLatest && styles.faint,
          );
          return (
            <g key={arrow.key} className={looks} onClick={() => onChoose(arrow.key)}>
              <title>{titleOf(arrow)}</title>
              <path d={arrow.path} className={styles.reach} />
              <path
                d={arrow.path}
                className={styles.stroke}
                strokeWidth={1.25 + 1.5 * arrow.weight + (isChosen ? 1 : 0)}
                markerEnd={`url(#${id}${isMarked || isLatest ? "marked" : "plain"})`}
              />
              <g transform={`translate(${arrow.at.x} ${arrow.at.y})`}>
                <rect x={-half} y={-11} width={2 * half} height={22} rx={11} />
                <text textAnchor="middle" dominantBaseline="central">
                  {badge}
                </text>
              </g>
            </g>
          );
        })}
        {places.map((place) => {
          const { name = place.name, below, tone } = lookOf(place);
          return (
            <g
              key={place.name}
              transform={`translate(${place.x} ${place.y})`}
              className={classes(styles.place, tone && styles[tone])}
            >
              <title>{[name, below].filter(Boolean).join(" · ")}</title>
              <rect x={-PILL.width / 2} y={-PILL.height / 2} width={PILL.width} height={PILL.height} rx={12} />
              <foreignObject x={6 - PILL.width / 2} y={-18} width={PILL.width - 12} height={38}>
                <div className={styles.name} dir="auto">
                  {name}
                </div>
                <div className={styles.below}>{below}</div>
              </foreignObject>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
