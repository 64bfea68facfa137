"""The controllers of volumes and claims. Source: pkg/controller/volume."""
