"""A real node of the kit has no images: its own root serves as each, and nothing is left of ended containers."""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.kubelet.images.container_gc import DeadContainer
from kitlib.kubelet.images.image_gc import Image


class NoImages:
    """What a runtime answers about images and dead containers."""

    def dead(self, identity: str = "") -> Sequence[DeadContainer]:
        """None: a pod has no disk of its own here."""
        return ()

    def remove_dead(self, instance: str) -> None:
        """Nothing to do."""

    def images(self) -> Sequence[Image]:
        """None: the node's own root serves as every image."""
        return ()

    def pull(self, image: str) -> Image | None:
        """Nothing to do."""
        return None

    def remove_image(self, image: str) -> None:
        """Nothing to do."""
